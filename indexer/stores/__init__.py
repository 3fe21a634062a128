"""Durable catalogs: one file an engine, behind the `ToolStore` Protocol of `base`."""
