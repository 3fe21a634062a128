"""Lay out the sets of requests for AWS and Google operations as folders that `toolscout bench quality --data` reads.

`ko-operations`: 300 requests in Korean, each judged against 641 operations described in English, a seeded sample of
popular services, none of them named in the training pairs. `ar-operations`: 213 requests in Arabic, judged against the
same operations and 213 more (`trained_tools.txt`), the ones asked for; these are named in training pairs of other
languages. The requests were written looking at the operation's name and first sentence, and are kept out of training.
Texts of the operations are not ours to ship: they are read from the installed `botocore` and
`google-api-python-client` (extra `demo`).

    python -m benchmarks.sets.operations DIRECTORY
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from indexer import SourceError, ToolDefinition
from indexer.sources import open_source

SETS: Final = tuple(sorted(path.parent for path in Path(__file__).parent.glob("*-operations/tools.txt")))
"""Folders of the sets: queries, judgements, and the ids of the operations."""
TOOL_LISTS: Final = ("tools.txt", "trained_tools.txt")
"""Operations that no training pair names, and those that pairs in other languages name."""


def named_operations(folder: Path) -> frozenset[str]:
    """Ids of a set's operations."""
    lists = (folder / name for name in TOOL_LISTS)
    return frozenset(name for path in lists if path.exists() for name in path.read_text(encoding="utf-8").split())


def operations(wanted: frozenset[str]) -> Iterator[ToolDefinition]:
    """These operations, as the catalogs on this machine describe them. Raises: SourceError."""
    services = sorted({name.split("/", 1)[0].removeprefix("aws.") for name in wanted if name.startswith("aws.")})
    for spec in (f"aws:{','.join(services)}", "google"):
        for entry in open_source(spec).entries():
            if isinstance(entry, ToolDefinition) and f"{entry.namespace}/{entry.name}" in wanted:
                yield entry


def lay_out(folder: Path, directory: Path) -> int:
    """Write the set of a folder into `directory`, under its name; how many tools it holds. Raises: SourceError."""
    target = directory / folder.name
    target.mkdir(parents=True, exist_ok=True)
    for name in ("queries.jsonl", "qrels.tsv", "meta.json"):
        shutil.copyfile(folder / name, target / name)
    lines = [
        json.dumps(
            {
                "id": f"{tool.namespace}/{tool.name}",
                "name": tool.name,
                "namespace": tool.namespace,
                "description": tool.description,
                "input_schema": tool.input_schema,
            },
            ensure_ascii=False,
        )
        for tool in operations(named_operations(folder))
    ]
    (target / "tools.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)


def main() -> int:
    """Lay the sets out where the command line says."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m benchmarks.sets.operations DIRECTORY\n")
        return 2
    directory = Path(sys.argv[1])
    try:
        for folder in SETS:
            count = lay_out(folder, directory)
            sys.stdout.write(f"{count} tools in {directory / folder.name}\n")
    except SourceError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
