"""Who runs a catalog tool: the registry, its executors, and the connections they need."""
