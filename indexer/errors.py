"""Every error the indexer raises on purpose.

IndexerError
├── InvalidToolError          a definition that cannot be taken; names the field, the reason and the cure
├── SourceError               a catalog source that cannot be read; names the source and the place in it
├── EmbeddingError            an encoder failed
│   └── DimensionMismatchError   vectors of another width than the collection's
├── UnknownEncoderError       no encoder goes by that name, or its extra is not installed
├── StoreError                the store answered, but not as it should
│   ├── StoreLockedError      another process owns the embedded store
│   └── StoreUnavailableError the store cannot be reached
└── CorruptSnapshotError      a replica snapshot that must be rebuilt from the store
"""


def _sentences(problem: str, fix: str) -> str:
    return f"{problem}{'' if problem.endswith(('.', '!', '?')) else '.'} {fix}" if fix else problem


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
        super().__init__(_sentences(f"{where}: {reason}", fix))


class SourceError(IndexerError):
    """A catalog source that cannot be read."""

    def __init__(self, source: str, reason: str, *, fix: str = "") -> None:
        self.source = source
        self.reason = reason
        self.fix = fix
        super().__init__(_sentences(f"{source}: {reason}", fix))


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


class StoreError(IndexerError):
    """The store answered, but not as it should."""


class StoreLockedError(StoreError):
    """Another process owns the embedded store."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached."""


class CorruptSnapshotError(IndexerError):
    """A replica snapshot that must be rebuilt from the store."""
