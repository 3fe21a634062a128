"""The `toolscout` command."""

from gateway.cli.entry import main

__all__ = ["main"]
