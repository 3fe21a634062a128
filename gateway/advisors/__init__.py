"""Advisors: what happens around a model call, one file each."""
