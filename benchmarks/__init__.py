"""Measurements of Toolscout, beside others and by itself; results are kept under `results/`."""
