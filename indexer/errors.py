"""Every error the indexer raises on purpose.

IndexerError
├── InvalidToolError          a definition that cannot be taken; names the field, the reason and the cure
├── SourceError               a catalog source that cannot be read; names the source and the place in it
├── EmbeddingError            an encoder failed
│   └── DimensionMismatchError   vectors of another width than the collection's
├── UnknownEncoderError       no encoder goes by that name, or its extra is not installed
├── InvalidSettingError       a setting that cannot be used; says what to set
├── StoreError                the store answered, but not as it should
│   ├── StoreLockedError      another process owns the embedded store
│   ├── StoreMissingError     the collection is not there any more
│   ├── EncoderMismatchError  the catalog holds another encoder's vectors
│   │   └── CatalogMovedError it moved to another encoder while this process was running
│   └── StoreUnavailableError the store cannot be reached, or cannot take this now: try again later
└── CorruptSnapshotError      a replica snapshot that must be rebuilt from the store
"""


def sentences(problem: str, fix: str) -> str:
    """A problem and its cure, if one is known, as sentences of one text."""
    return f"{problem}{'' if problem.endswith(('.', '!', '?')) else '.'} {fix}" if fix else problem


def cut(text: str, limit: int = 120) -> str:
    """At most `limit` characters of a text, for people to read; an ellipsis says that there is more."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class IndexerError(Exception):
    """Base of all errors that the indexer raises on purpose."""


class InvalidToolError(IndexerError):
    """A tool definition that cannot be taken as it is."""

    def __init__(self, field: str, reason: str, *, fix: str = "", tool: str = "") -> None:
        self.field = field
        self.reason = reason
        self.fix = fix
        self.tool = tool
        where = f"{tool}: {field}" if tool else field
        super().__init__(sentences(f"{where}: {reason}", fix))


class SourceError(IndexerError):
    """A catalog source that cannot be read."""

    def __init__(self, source: str, reason: str, *, fix: str = "") -> None:
        self.source = source
        self.reason = reason
        self.fix = fix
        super().__init__(sentences(f"{source}: {reason}", fix))


class EmbeddingError(IndexerError):
    """An encoder could not turn texts into vectors."""


class DimensionMismatchError(EmbeddingError):
    """Vectors of another width than the collection holds."""

    def __init__(self, *, expected: int, got: int, where: str) -> None:
        self.expected = expected
        self.got = got
        super().__init__(f"{where}: expected vectors of {expected} dimensions, got {got}")


class UnknownEncoderError(IndexerError):
    """No encoder goes by that name, or the extra that brings it is not installed."""


class InvalidSettingError(IndexerError):
    """A setting that cannot be used; the message says what to set."""


class StoreError(IndexerError):
    """The store answered, but not as it should."""


class StoreLockedError(StoreError):
    """Another process owns the embedded store."""


class StoreMissingError(StoreError):
    """The collection is not there, or not any more."""


class EncoderMismatchError(StoreError):
    """The catalog holds vectors of another encoder than this process has."""


class CatalogMovedError(EncoderMismatchError):
    """The catalog moved to another encoder while this process was running."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached, or cannot take this now; the same again may succeed later."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        self.retry_after_seconds = retry_after_seconds
        """What the store asked for; None where it did not say."""
        super().__init__(message)


class CorruptSnapshotError(IndexerError):
    """A replica snapshot that must be rebuilt from the store."""
