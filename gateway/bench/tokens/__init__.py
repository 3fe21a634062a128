"""The engine of `toolscout bench tokens`: what tool search saves in prompt tokens, what it costs, and what it loses."""
