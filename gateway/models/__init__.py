"""Chat models: one file each, behind the `ChatModel` Protocol of `base`."""
