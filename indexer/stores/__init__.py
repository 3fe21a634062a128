"""Durable catalogs behind the `ToolStore` Protocol of `base`; `ledger` and `revisions` are for those that are shared."""
