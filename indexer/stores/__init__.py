"""Durable catalogs behind the `ToolStore` Protocol of `base`; shared ones keep to `ledger` and `revisions`."""
