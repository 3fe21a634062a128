"""The identity side of the replica: which tool each row is, and which rows a name or a scope means."""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from indexer.alias import model_alias
from indexer.columns import Column, Label, RowLists, Rows, intersection, union
from indexer.definition import ToolDefinition, ToolKey
from indexer.definition_texts import DefinitionTexts
from indexer.errors import CorruptSnapshotError
from indexer.search import SearchScope

_HASH_BYTES: Final = 16
_MAX_SLASHES: Final = 16
_ROW_OBJECTS_BYTES: Final = 560
"""Of one row in the lists and dictionaries, with their tuples and integers, its strings apart."""


@dataclass(frozen=True, slots=True)
class RowEntry:
    """What a row is made of, beside its vector and its words."""

    definition: ToolDefinition
    encoded: bytes
    """`ToolDefinition.encoded` of it."""
    content_hash: str
    revision: int


class RowTable:
    """Rows of active tools, append-only; one writer.

    A row that was replaced or deleted stays, dead. Readers bring the number of rows of their own moment: what lies
    above it does not exist for them, so they need no lock.
    """

    def __init__(self) -> None:
        self._keys: list[ToolKey] = []
        self._aliases: list[str] = []
        self._previous: list[int] = []
        self._row_of: dict[ToolKey, int] = {}
        self._alias_rows: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """Rows by alias, by tenant; the name index below likewise, names and aliases case-folded."""
        self._name_rows: defaultdict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)
        self._texts = DefinitionTexts.empty()
        self._groups: dict[tuple[str, str], int] = {}
        """(tenant, namespace) by number."""
        self._group: Column = Column(np.empty(0, dtype=np.int32))
        self._revision: Column = Column(np.empty(0, dtype=np.int64))
        self._hash: Column = Column(np.empty((0, _HASH_BYTES), dtype=np.uint8))
        self._lists = RowLists()

    def __len__(self) -> int:
        return len(self._keys)

    # What one row is.

    def key(self, row: int) -> ToolKey:
        return self._keys[row]

    def alias(self, row: int) -> str:
        return self._aliases[row]

    def revision(self, row: int) -> int:
        return int(self._revision.view()[row])

    def content_hash(self, row: int) -> str:
        return self._hash.view()[row].tobytes().hex()

    def encoded(self, row: int) -> bytes:
        """The JSON of the row's definition."""
        return self._texts.encoded(row)

    def definition(self, row: int) -> ToolDefinition:
        """The row's definition. Raises: StoreError if it cannot be read."""
        return self._texts.definition(row)

    # Which rows are meant. `below` is the number of rows at the reader's moment.

    def latest(self, key: ToolKey, below: int) -> int | None:
        """The last row that a tool had at that moment; it may be dead."""
        return self._at(self._row_of.get(key), below)

    def by_alias(self, tenant: str, alias: str, below: int) -> int | None:
        """The last row behind a model-facing alias at that moment; it may be dead."""
        return self._at(self._alias_rows.get(tenant, {}).get(alias), below)

    def by_name(self, tenant: str, name: str, below: int) -> list[int]:
        """Rows of that moment whose name, alias or `namespace/name` is this one but for case; some may be dead."""
        folded = name.casefold()
        names = self._name_rows.get(tenant, {})
        rows = [row for row in names.get(folded, ()) if row < below]
        # Either part may hold slashes of its own.
        for place in [place for place, letter in enumerate(folded) if letter == "/"][:_MAX_SLASHES]:
            namespace, short = folded[:place], folded[place + 1 :]
            rows += [
                row for row in names.get(short, ()) if row < below and self._keys[row].namespace.casefold() == namespace
            ]
        return rows

    def _at(self, row: int | None, below: int) -> int | None:
        while row is not None and row >= below:
            row = self._previous[row]
        return None if row is None or row < 0 else row

    def scope_rows(self, scope: SearchScope, below: int) -> Rows | None:
        """Rows of that moment in scope, ascending, dead ones too; None where that is every row."""
        lists = self._lists
        parts: list[Rows] = []
        tenant = lists.rows(("tenant", scope.tenant), below)
        if len(tenant) < below:
            parts.append(tenant)
        if scope.namespaces is not None:
            parts.append(union([lists.rows(("namespace", scope.tenant, name), below) for name in scope.namespaces]))
        parts.extend(lists.rows(("tag", tag), below) for tag in scope.tags)
        if scope.trust is not None:
            parts.append(union([lists.rows(("trust", tier), below) for tier in scope.trust]))
        if scope.tools is not None:
            rows = {self.latest(key, below) for key in scope.tools if key.tenant == scope.tenant}
            parts.append(np.array(sorted(row for row in rows if row is not None), dtype=np.int64))
        return intersection(parts)

    def namespace_rows(self, tenant: str, namespaces: Collection[str], below: int) -> Rows:
        """Rows of that moment in any of the namespaces, ascending, dead ones too."""
        return union([self._lists.rows(("namespace", tenant, name), below) for name in namespaces])

    def pinned_rows(self, below: int) -> Rows:
        return self._lists.rows(("pinned",), below)

    def count_namespaces(self, rows: Rows, below: int) -> dict[str, int]:
        """How many of the rows, all of one tenant, each namespace holds."""
        groups = self._group.view()[:below]
        counts = np.bincount(groups[rows])
        names = [namespace for _, namespace in list(self._groups)]
        return {names[number]: int(counts[number]) for number in np.flatnonzero(counts).tolist()}

    def count_groups(self, live: npt.NDArray[np.bool_]) -> int:
        """How many namespaces, of all tenants, the rows marked in (n,) `live` are of."""
        return len(np.unique(self._group.view()[: len(live)][live]))

    def grouped(self, rows: Rows) -> Rows:
        """The rows in order of tenant and namespace, so that those of one lie side by side; else in their own order."""
        return rows[np.argsort(self._places()[self._group.view()[rows]], kind="stable")]

    def runs(self, below: int) -> tuple[int, int]:
        """Into how many runs of neighbours the rows of that moment fall by namespace, and how few it could be."""
        groups = self._group.view()[:below]
        return (int(np.count_nonzero(np.diff(groups))) + 1, len(np.unique(groups))) if below else (0, 0)

    def _places(self) -> npt.NDArray[np.int64]:
        """(groups,) the place of each group number in the order of tenant and namespace."""
        numbers = [number for _, number in sorted(self._groups.items())]
        places = np.empty(len(numbers), dtype=np.int64)
        places[numbers] = np.arange(len(numbers))
        return places

    # Writing.

    def append(self, entries: Sequence[RowEntry]) -> None:
        """Add rows of tools; a key that has one gets a new one."""
        first = len(self._keys)
        groups: list[int] = []
        lists: defaultdict[Label, list[int]] = defaultdict(list)
        for row, entry in enumerate(entries, start=first):
            key = entry.definition.key
            groups.append(self._groups.setdefault(key[:2], len(self._groups)))
            for label in _labels(entry.definition):
                lists[label].append(row)
            self._name(row, key, model_alias(key))
            self._texts.append(entry.encoded)
        self._group.extend(groups)
        self._revision.extend([entry.revision for entry in entries])
        self._hash.extend(_hash_rows([entry.content_hash for entry in entries]))
        self._lists.add(lists)

    def _name(self, row: int, key: ToolKey, alias: str) -> None:
        previous = self._row_of.get(key)
        self._keys.append(key)
        self._aliases.append(alias)
        self._previous.append(-1 if previous is None else previous)
        self._row_of[key] = row
        self._alias_rows[key.tenant][alias] = row
        _add_names(self._name_rows[key.tenant], row, key.name, alias)

    # The table as arrays, for a snapshot file and for compaction.

    def to_arrays(self, keep: Rows) -> dict[str, npt.NDArray[Any]]:
        """The rows in `keep` (in any order, no key twice), renumbered from 0."""
        kept: list[int] = keep.tolist()
        new_rows = np.full(len(self._keys), -1, dtype=np.int64)
        new_rows[keep] = np.arange(len(keep))
        definitions, offsets = self._texts.to_arrays(kept)
        labels, list_offsets, list_rows = self._lists.to_arrays(new_rows)
        names: list[str] = [self._keys[row].name for row in kept]
        strings: dict[str, Any] = {
            "groups": list(self._groups),
            "names": names,
            "aliases": [self._aliases[row] for row in kept],
            "labels": labels,
        }
        return {
            "strings": np.frombuffer(orjson.dumps(strings), dtype=np.uint8),
            "definitions": definitions,
            "offsets": offsets,
            "group": self._group.view()[keep],
            "revision": self._revision.view()[keep],
            "hash": self._hash.view()[keep],
            "list_offsets": list_offsets,
            "list_rows": list_rows,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "RowTable":
        """Take over what `to_arrays` gave; read-only memory maps are served as they are.

        Raises: CorruptSnapshotError.
        """
        table = cls()
        try:
            strings: dict[str, list[Any]] = orjson.loads(arrays["strings"].tobytes())
            group = arrays["group"]
            table._texts = DefinitionTexts(arrays["definitions"], arrays["offsets"])
            table._group, table._revision = Column(group), Column(arrays["revision"])
            table._hash = Column(arrays["hash"])
            pairs = [(str(tenant), str(namespace)) for tenant, namespace in strings["groups"]]
            table._groups = {pair: number for number, pair in enumerate(pairs)}
            table._name_all(pairs, group.tolist(), strings["names"], strings["aliases"])
            labels = [tuple(map(str, label)) for label in strings["labels"]]
            table._lists = RowLists.from_arrays(labels, arrays["list_offsets"], arrays["list_rows"])
            table._check()
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise CorruptSnapshotError(f"the snapshot's table of rows cannot be read: {error!r}") from error
        return table

    def _name_all(
        self, pairs: Sequence[tuple[str, str]], groups: Sequence[int], names: list[str], aliases: list[str]
    ) -> None:
        """As `_name` for the first rows of all, no key twice: a start is as fast as this is."""
        self._keys = [ToolKey._make((*pairs[number], name)) for number, name in zip(groups, names, strict=True)]
        self._aliases = aliases
        self._previous = [-1] * len(self._keys)
        self._row_of = dict(zip(self._keys, range(len(self._keys)), strict=True))
        for row, (key, alias) in enumerate(zip(self._keys, aliases, strict=True)):
            self._alias_rows[key[0]][alias] = row
            _add_names(self._name_rows[key[0]], row, key[2], alias)

    def _check(self) -> None:
        rows = len(self._keys)
        if not rows == len(self._revision) == len(self._hash) == len(self._texts):
            raise ValueError("columns of different lengths")

    def parts_bytes(self) -> dict[str, int]:
        """Memory of the definitions and of the columns, the latter in part by estimate."""
        keys, aliases = self._keys[:], self._aliases[:]
        strings = sum(map(sys.getsizeof, aliases)) + sum(sys.getsizeof(key.name) for key in keys)
        columns = self._group.nbytes + self._revision.nbytes + self._hash.nbytes + self._lists.nbytes
        return {
            "definitions": self._texts.nbytes,
            "columns": columns + strings + len(keys) * _ROW_OBJECTS_BYTES,
        }


def _add_names(rows: dict[str, tuple[int, ...]], row: int, name: str, alias: str) -> None:
    folded, folded_alias = name.casefold(), alias.casefold()
    rows[folded] = (*rows.get(folded, ()), row)
    if folded_alias != folded:
        rows[folded_alias] = (*rows.get(folded_alias, ()), row)


def _labels(definition: ToolDefinition) -> Iterator[Label]:
    yield "tenant", definition.tenant
    yield "namespace", definition.tenant, definition.namespace
    yield "trust", definition.trust
    yield from (("tag", tag) for tag in dict.fromkeys(definition.tags))
    if definition.pinned:
        yield ("pinned",)


def _hash_rows(hashes: Sequence[str]) -> npt.NDArray[np.uint8]:
    """(n, 16) bytes of content hashes; one that another program wrote in another form never equals ours."""
    joined = b"".join(_hash_bytes(content_hash) for content_hash in hashes)
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, _HASH_BYTES)


def _hash_bytes(content_hash: str) -> bytes:
    try:
        return bytes.fromhex(content_hash).rjust(_HASH_BYTES, b"\0")[:_HASH_BYTES]
    except ValueError:
        return bytes(_HASH_BYTES)
