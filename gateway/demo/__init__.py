"""The demo: real operations as a catalog, eight requests, and what tool search saves on them."""
