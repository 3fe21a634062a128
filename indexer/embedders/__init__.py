"""Encoders: one file each, behind the `Embedder` Protocol of `base`."""
