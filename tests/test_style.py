"""House rules that no linter knows."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
BROAD = re.compile(
    r"^( *)except (?:\([^)]*\b(?:Base)?Exception\b[^)]*\)|(?:Base)?Exception)\b[^:]*:(.*)$", re.MULTILINE
)


def test_every_broad_except_says_why_where_it_stands() -> None:
    silent: list[str] = []
    for room in ("gateway", "indexer", "benchmarks"):
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for found in BROAD.finditer(text):
                following = text[found.end() :].lstrip("\n").split("\n", 1)[0]
                said = f"{found[2]} {following}".partition("#")[2]
                if len(re.sub(r"#|noqa: [A-Z0-9]+", "", said).strip()) < 10:
                    silent.append(f"{path.relative_to(ROOT)}:{text[: found.start()].count(chr(10)) + 1}")
    assert silent == []
