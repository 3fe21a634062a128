"""Catalogs from elsewhere, read as tool definitions."""
