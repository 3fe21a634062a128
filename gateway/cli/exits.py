"""Exit codes, and how an error becomes one clear line."""

import sys
from collections.abc import Callable
from enum import IntEnum


class Exit(IntEnum):
    """What a script may rely on."""

    OK = 0
    NOTHING = 1
    """Nothing was found, or something was refused."""
    USAGE = 2
    """The command line or a setting is wrong."""
    UNAVAILABLE = 3
    """The catalog cannot be opened: in use, or its server is away."""
    FAILED = 4
    """Something outside failed: a source, a model, a running gateway's answer."""


EXIT_CODES_HELP = (
    "Exit codes: 0 all well; 1 nothing found, or something was refused; 2 the command line or a setting is wrong; "
    "3 the catalog cannot be opened (in use, or its server is away); 4 a source, a model or the gateway failed."
)


def run_or_exit(command: Callable[[], None]) -> None:
    """Run a command; an error raised on purpose ends it with one line on stderr, another with a traceback."""
    try:
        command()
    except Exception as error:  # sorted by kind below; one that was not raised on purpose is raised on
        code = _code_of(error)
        if code is None:
            raise
        sys.stderr.write(f"toolscout: {error}\n")
        sys.exit(code)


def _code_of(error: Exception) -> Exit | None:
    """The exit code of an error that was raised on purpose; imports are here because most runs need none of them."""
    from gateway.errors import ConfigurationError, GatewayError
    from indexer.errors import IndexerError, InvalidSettingError, InvalidToolError, StoreError, UnknownEncoderError

    match error:
        case ConfigurationError() | UnknownEncoderError() | InvalidSettingError():
            return Exit.USAGE
        case StoreError():
            return Exit.UNAVAILABLE
        case InvalidToolError():
            return Exit.NOTHING
        case IndexerError() | GatewayError() | OSError():
            return Exit.FAILED
        case _:
            return None
