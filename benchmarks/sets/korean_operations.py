"""Lay out the Korean-to-English set as a folder that `toolscout bench quality --data` reads.

300 requests in Korean, each judged against 641 operations of AWS and Google described in English. The operations are a
seeded sample of popular services, none of them named in the training pairs; the requests were written looking at the
operation's name and first sentence, and are kept out of training. Texts of the operations are not ours to ship: they
are read from the installed `botocore` and `google-api-python-client` (extra `demo`).

    python -m benchmarks.sets.korean_operations DIRECTORY
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from indexer import SourceError, ToolDefinition
from indexer.sources import open_source

_SET = Path(__file__).parent / "ko-operations"


def operations() -> Iterator[ToolDefinition]:
    """The set's operations, as the catalogs on this machine describe them."""
    wanted = set((_SET / "tools.txt").read_text(encoding="utf-8").split())
    services = sorted({name.split("/", 1)[0].removeprefix("aws.") for name in wanted if name.startswith("aws.")})
    for spec in (f"aws:{','.join(services)}", "google"):
        for entry in open_source(spec).entries():
            if isinstance(entry, ToolDefinition) and f"{entry.namespace}/{entry.name}" in wanted:
                yield entry


def lay_out(directory: Path) -> int:
    """Write the set into `directory/ko-operations`; how many tools it holds. Raises: SourceError."""
    folder = directory / _SET.name
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("queries.jsonl", "qrels.tsv", "meta.json"):
        shutil.copyfile(_SET / name, folder / name)
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
        for tool in operations()
    ]
    (folder / "tools.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)


def main() -> int:
    """Lay the set out where the command line says."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m benchmarks.sets.korean_operations DIRECTORY\n")
        return 2
    try:
        count = lay_out(Path(sys.argv[1]))
    except SourceError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{count} tools in {Path(sys.argv[1]) / _SET.name}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
