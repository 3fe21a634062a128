"""The collection behind a name: found through its alias, or made with everything a catalog needs."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from indexer.errors import StoreError
from indexer.stores.ledger import LEDGER_ID, Ledger, ledger_payload
from indexer.stores.payload import DENSE, KEYWORD_FIELDS, WORDS
from indexer.stores.qdrant_calls import QdrantCalls

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http import models
    from qdrant_client.http.models import CollectionParams, PayloadSchemaParams, PayloadSchemaType

_OLDEST_SERVER: Final = (1, 16)
"""The first that checks `update_filter`; older ones would take every write, and the protocol would not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionOptions:
    """How a collection is spread over a cluster, when it is made."""

    shards: int | None = None
    """None: as many as the server takes by default."""
    replicas: int = 1
    write_consistency: int = 1
    """Replicas that must have a change before it counts."""
    payload_indexes: bool = True
    """False only for the in-process client, which has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionHandle:
    """A collection that is there and fits."""

    name: str
    """Its own name, not the alias: a write never lands in a collection that the alias was switched to meanwhile."""
    aliased: bool
    """Whether it was found through an alias; a catalog of the time before aliases was not."""
    dimensions: int
    """Of the vectors in it."""
    has_words: bool
    """Whether it has the sparse vectors that a search on the server needs."""


def find_collection(client: "QdrantClient", calls: QdrantCalls, name: str) -> str | None:
    """The collection that an alias means, or that has this name itself; None where there is neither."""
    aliases = calls(client.get_aliases).aliases
    found = next((alias.collection_name for alias in aliases if alias.alias_name == name), None)
    if found is not None:
        return found
    return name if calls(lambda: client.collection_exists(name)) else None


def open_collection(
    client: "QdrantClient", calls: QdrantCalls, name: str, dimensions: int, options: CollectionOptions
) -> CollectionHandle:
    """The collection behind a name; where there is none, one is made, and an alias of that name.

    Several processes may do this at once. Raises: StoreUnavailableError, StoreError.
    """
    _check_server(client, calls)
    found = find_collection(client, calls, name)
    if found is None:
        found = numbered_name(name, 1)
        create_collection(client, calls, found, dimensions, options)
        switch_alias(client, calls, name, found)
    return handle_of(client, calls, found, options, alias=name)


def handle_of(
    client: "QdrantClient", calls: QdrantCalls, found: str, options: CollectionOptions, *, alias: str
) -> CollectionHandle:
    """A handle of a collection that is there; what it lacks of indexes and its ledger are made. Raises: StoreError."""
    params = collection_params(client, calls, found)
    if options.payload_indexes:
        _create_indexes(client, calls, found)
    _create_ledger(client, calls, found)
    has_words = WORDS in (params.sparse_vectors or {})
    return CollectionHandle(name=found, aliased=found != alias, dimensions=width_of(params, found), has_words=has_words)


def collection_params(client: "QdrantClient", calls: QdrantCalls, found: str) -> "CollectionParams":
    return calls(lambda: client.get_collection(found)).config.params


def numbered_name(name: str, number: int) -> str:
    """What the collections behind an alias are called: two processes that make the first one make the same."""
    return f"{name}-{number}"


def next_name(client: "QdrantClient", calls: QdrantCalls, name: str) -> str:
    """A name of a collection behind the alias that is not taken."""
    numbered = re.compile(rf"{re.escape(name)}-(\d+)")
    taken = [one.name for one in calls(client.get_collections).collections]
    numbers = [int(match[1]) for one in taken if (match := numbered.fullmatch(one))]
    return numbered_name(name, max(numbers, default=0) + 1)


def create_collection(
    client: "QdrantClient", calls: QdrantCalls, found: str, dimensions: int, options: CollectionOptions
) -> None:
    """Make a collection; one that another process has just made will do."""
    from qdrant_client.http import models

    # Dot product of unit vectors is their cosine, and keeps the stored floats bit for bit as they came.
    vectors = {DENSE: models.VectorParams(size=dimensions, distance=models.Distance.DOT)}
    words = {WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)}

    def create() -> bool:
        if client.collection_exists(found):
            return True
        try:
            return client.create_collection(
                found,
                vectors_config=vectors,
                sparse_vectors_config=words,
                shard_number=options.shards,
                replication_factor=options.replicas,
                write_consistency_factor=options.write_consistency,
            )
        except Exception:
            # Of several processes that make it at once all but one are told that it exists, each server in its words.
            if client.collection_exists(found):
                return True
            raise

    calls(create)


def switch_alias(client: "QdrantClient", calls: QdrantCalls, alias: str, found: str) -> None:
    """Let a name mean a collection from now on, in one step."""
    from qdrant_client.http import models

    operation = models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=found, alias_name=alias))
    calls(lambda: client.update_collection_aliases([operation]))


def _check_server(client: "QdrantClient", calls: QdrantCalls) -> None:
    version = str(calls(client.info).version)
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < _OLDEST_SERVER:
        raise StoreError(
            f"The Qdrant server is version {version}; several gateways can share one from 1.16 on. Update the server."
        )


def width_of(params: "CollectionParams", found: str) -> int:
    """Of the vectors in a collection. Raises: StoreError if another program made it."""
    vectors = params.vectors
    dense = vectors.get(DENSE) if isinstance(vectors, dict) else None
    if dense is None:
        raise StoreError(
            f"The Qdrant collection {found!r} has no vector named {DENSE!r}: another program made it. "
            "Choose another one with TOOLSCOUT_COLLECTION."
        )
    return dense.size


def _create_indexes(client: "QdrantClient", calls: QdrantCalls, found: str) -> None:
    from qdrant_client.http import models

    integer = models.IntegerIndexType.INTEGER
    schemas: dict[str, PayloadSchemaType | PayloadSchemaParams] = {
        "revision": models.IntegerIndexParams(type=integer, lookup=False, range=True),
        # Of the ledger alone; servers in strict mode filter by indexed fields only.
        "version": models.IntegerIndexParams(type=integer, lookup=True, range=False),
        "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
        **dict.fromkeys((*KEYWORD_FIELDS, "alias", "names", "flags"), models.PayloadSchemaType.KEYWORD),
    }
    there = calls(lambda: client.get_collection(found)).payload_schema or {}
    for field, schema in schemas.items():
        if field not in there:
            _create_index(client, calls, found, field, schema)


def _create_index(
    client: "QdrantClient",
    calls: QdrantCalls,
    found: str,
    field: str,
    schema: "PayloadSchemaType | PayloadSchemaParams",
) -> None:
    calls(lambda: client.create_payload_index(found, field, field_schema=schema))


def _create_ledger(client: "QdrantClient", calls: QdrantCalls, found: str) -> None:
    """Of several processes that make one, the first one's stays. What is in the collection counts as written."""
    from qdrant_client.http import models

    if calls(lambda: client.retrieve(found, [str(LEDGER_ID)], with_payload=False)):
        return
    ledger = Ledger(catalog_id=uuid4().hex, allocated=highest_revision(client, calls, found))
    never = models.Filter(must=[models.FieldCondition(key="version", match=models.MatchValue(value=-1))])
    put_ledger(client, calls, found, ledger, never)


def put_ledger(
    client: "QdrantClient", calls: QdrantCalls, found: str, ledger: Ledger, condition: "models.Filter"
) -> None:
    """Write the ledger where there is none, or where the one there is fulfils the condition."""
    from qdrant_client.http import models

    point = models.PointStruct(id=str(LEDGER_ID), vector={}, payload=ledger_payload(ledger))
    calls(
        lambda: client.upsert(found, [point], wait=True, ordering=models.WriteOrdering.STRONG, update_filter=condition)
    )


def highest_revision(client: "QdrantClient", calls: QdrantCalls, found: str) -> int:
    """The highest revision of any tool in a collection."""
    from qdrant_client.http import models

    newest = models.OrderBy(key="revision", direction=models.Direction.DESC)
    records, _ = calls(lambda: client.scroll(found, order_by=newest, limit=1, with_payload=["revision"]))
    return int((records[0].payload or {})["revision"]) if records else 0
