"""The rows on requests in words: the lexical index alone, and the whole search."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gateway.bench.peers import ALL_PEERS
from gateway.bench.speed.artefacts import token_file, word_files
from gateway.bench.speed.bench import Bench, Contestant, RaceRow
from gateway.bench.speed.catalogs import home_of
from gateway.bench.speed.dense_rows import OWN, RowMaker, short
from gateway.bench.speed.lanes import Settings
from gateway.bench.speed.search import needed_check
from indexer.search_plan import BITS_ROWS

BM25S: Final = "bm25s, numpy backend"
RANK_BM25: Final = "rank_bm25"
QDRANT_LOCAL: Final = "qdrant-client local, hybrid"
LIKELY: Final = "toolscout, recall 0.99"
EDGE: Final = "Qdrant Edge, exact hybrid"
EDGE_HNSW: Final = "Qdrant Edge, HNSW hybrid"

_LEXICAL_SIZES: Final = (10_000, 100_000)
_SEARCH_SIZES: Final = (1_000, 10_000, 100_000)
_SYSTEM_SIZES: Final = (1_000, 10_000)
_FILLED: Final = "filled.json"
_RECALL: Final = 0.99


def text_rows() -> Iterator[tuple[str, bool, RowMaker]]:
    """(key, whether it belongs to a quick run, how it is made)."""
    for rows in _LEXICAL_SIZES:
        yield f"lexical-{short(rows)}", rows == 100_000, lambda bench, rows=rows: _lexical(bench, rows)
    for rows in _SEARCH_SIZES:
        yield f"search-{short(rows)}", rows == 10_000, lambda bench, rows=rows: _search(bench, rows)
    for rows in _SYSTEM_SIZES:
        yield f"systems-{short(rows)}", False, lambda bench, rows=rows: _systems(bench, rows)


def catalog_settings(bench: Bench, rows: int) -> dict[str, Any]:
    """What a whole catalog and its rivals need; its home may still have to be filled."""
    files, home = bench.files(256, rows), home_of(bench.data, rows)
    return {**bench.text_settings(), "rows": rows, "vectors": str(files.vectors), "home": str(home)}


def search_settings(bench: Bench, rows: int, *, undisturbed: bool = True) -> dict[str, Any]:
    """The same, with the home filled where it is missing. Raises: LaneError."""
    given = catalog_settings(bench, rows)
    if not Path(given["home"]).exists():
        fill_home(bench, given, undisturbed=undisturbed)
    return given


def fill_home(bench: Bench, given: Settings, *, undisturbed: bool = True) -> dict[str, Any]:
    """Fill a catalog anew; the measurements of that, kept if nothing else ran. Raises: LaneError."""
    home = Path(given["home"])
    shutil.rmtree(home, ignore_errors=True)
    draft = home.with_name(f"{home.name}.new")
    bench.heard(f"registering {given['rows']:,} tools", 0, 0)
    record = bench.measure("catalogs:fill", {**given, "home": str(draft)})
    if undisturbed:
        (draft / _FILLED).write_text(json.dumps(record), encoding="utf-8")
    draft.rename(home)
    bench.heard(f"registering {given['rows']:,} tools", given["rows"], given["rows"])
    return record


def filled(bench: Bench, given: Settings) -> dict[str, Any]:
    """What filling a home measured; it is filled anew where other work disturbed that. Raises: LaneError."""
    file = Path(given["home"]) / _FILLED
    if not file.exists():
        return fill_home(bench, given)
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def _lexical(bench: Bench, rows: int) -> RaceRow:
    given = bench.text_settings()
    check = needed_check(given["needed"])
    index, tokens = word_files(bench.data, rows, bench.heard)
    contestants = [
        Contestant(
            name=OWN,
            maker="lexical:own",
            settings={**given, "index": str(index)},
            check=check,
        )
    ]
    others = {**given, "tokens": str(tokens)}
    for name, maker, package in (
        ("numpy, one array a word", "lexical:plain", ""),
        (BM25S, "lexical:bm25s", "bm25s"),
        (RANK_BM25, "lexical:rank_bm25", "rank_bm25"),
    ):
        contestants.append(
            Contestant(name=name, maker=maker, settings=others, group=maker, package=package, check=check)
        )
    title = f"words of a request among {rows:,} tools"
    return RaceRow(key=f"lexical-{short(rows)}", title=title, queries=len(given["requests"]), contestants=contestants)


def _search(bench: Bench, rows: int) -> RaceRow:
    given = search_settings(bench, rows)
    check = needed_check(given["needed"])
    own = [Contestant(name=OWN, maker="search:own", settings=given, check=check)]
    if rows >= BITS_ROWS:
        likely = {**given, "recall": _RECALL}
        own.append(Contestant(name=LIKELY, maker="search:own_likely", settings=likely, group="likely", check=check))
    others = {**given, "tokens": str(token_file(bench.data, rows, bench.heard))}
    shard = str(bench.data.folder / f"edge-{rows}")
    databases = [
        Contestant(
            name=EDGE,
            maker="databases:edge",
            settings={**others, "shard": f"{shard}-exact"},
            group="edge",
            check=check,
        ),
        Contestant(
            name=EDGE_HNSW,
            maker="databases:edge",
            settings={**others, "shard": f"{shard}-hnsw", "hnsw": True},
            group="edge-hnsw",
            check=check,
            skip="only in a full run" if bench.options.quick else "",
        ),
        Contestant(name=QDRANT_LOCAL, maker="databases:qdrant_local", settings=others, group="local", check=check),
    ]
    title = f"the whole search over {rows:,} tools"
    return RaceRow(
        key=f"search-{short(rows)}", title=title, queries=len(given["requests"]), contestants=[*own, *databases]
    )


def _systems(bench: Bench, rows: int) -> RaceRow:
    given = search_settings(bench, rows)
    check = needed_check(given["needed"])
    contestants = [Contestant(name=OWN, maker="search:own", settings=given, check=check)]
    contestants += [
        Contestant(
            name=peer.name,
            maker="search:system",
            settings={**given, "peer": peer.name},
            group=peer.name,
            package=peer.package,
            check=check,
        )
        for peer in ALL_PEERS
    ]
    title = f"tool searches of others over {rows:,} tools, end to end"
    return RaceRow(key=f"systems-{short(rows)}", title=title, queries=len(given["requests"]), contestants=contestants)
