"""The HTTP interface: routers that parse, call and render."""
