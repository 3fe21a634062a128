"""`python -m gateway.cli` is `toolscout`."""

from gateway.cli import main

main()
