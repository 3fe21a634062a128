"""The engine of `toolscout bench speed`: contenders take turns on the same data, results beside speeds."""
