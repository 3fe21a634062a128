"""Tools on the gateway's side: callbacks, their context, and the manager that runs them."""
