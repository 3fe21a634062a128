"""The engines of `toolscout bench`."""
