"""Tools in JSON, NDJSON and YAML files."""

import json
from pathlib import Path

import pytest

from indexer.sources import SourceOptions, open_source
from tests.indexer.sources.reading import failure, read

GOOD = {"name": "weather", "description": "Forecast.", "input_schema": {"type": "object"}}


def written(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_a_bad_line_never_stops_the_rest(tmp_path: Path) -> None:
    lines: list[str | bytes] = [
        json.dumps(GOOD),
        "",
        "{not json",
        json.dumps({**GOOD, "name": "b", "descripton": "typo"}),
        b'{"name": "\xff"}',
        '{"name": "twice", "name": "again"}',
        '{"name": "nan", "input_schema": {"minimum": NaN}}',
        json.dumps({**GOOD, "name": "big", "description": "x" * 1_000_000}),
        json.dumps({**GOOD, "name": "ctrl\u0007"}),
        "[" * 100_000,
        json.dumps(GOOD),
        json.dumps({**GOOD, "name": "last"}),
    ]
    data = b"\n".join(line.encode() if isinstance(line, str) else line for line in lines)
    taken, refused = read(open_source(written(tmp_path, "tools.jsonl", data)))
    assert [definition.name for definition in taken] == ["weather", "last"]
    told = {entry.place: f"{entry.field}: {entry.reason}. {entry.fix}" for entry in refused}
    assert list(told) == [f"line {n}" for n in (3, 4, 5, 6, 7, 8, 9, 10, 11)]
    assert "not JSON" in told["line 3"] and "column 2" in told["line 3"]
    assert "Did you mean 'description'?" in told["line 4"]
    assert "not UTF-8: byte 11 is 0xff; save it as UTF-8" in told["line 5"]
    assert "the key 'name' stands twice" in told["line 6"]
    assert "NaN is not a JSON number" in told["line 7"]
    assert "1,000,000 bytes long; at most 65,536" in told["line 8"]
    assert "U+0007" in told["line 9"]
    assert "nested too deeply" in told["line 10"]
    assert "the same namespace and name as line 1" in told["line 11"]


def test_a_line_without_end_is_refused_and_not_kept_in_memory(tmp_path: Path) -> None:
    path = written(tmp_path, "tools.ndjson", b'{"name": "' + b"x" * 5_000_000 + b'"}\n' + json.dumps(GOOD).encode())
    taken, refused = read(open_source(path))
    assert [definition.name for definition in taken] == ["weather"]
    assert refused[0].reason == "longer than 4 MiB"


def test_the_lines_of_a_file_are_its_total(tmp_path: Path) -> None:
    path = written(tmp_path, "tools.jsonl", "\n".join(json.dumps({**GOOD, "name": f"n{i}"}) for i in range(7)) + "\n")
    assert open_source(path).total == 7
    path = written(tmp_path, "open.jsonl", "{}\n\n   \n{}\n{}")
    assert open_source(path).total == 3


@pytest.mark.parametrize("document", ["%s", '{"tools": %s}', '{"jsonrpc": "2.0", "result": {"tools": %s}}'])
def test_a_document_holds_its_tools_in_one_of_three_places(tmp_path: Path, document: str) -> None:
    path = written(tmp_path, "tools.json", document % json.dumps([GOOD, {"name": 1}]))
    source = open_source(path, SourceOptions(namespace="met", publisher="Met Office", trust="verified"))
    taken, refused = read(source)
    assert source.total == 2
    assert [(t.namespace, t.name, t.publisher, t.trust) for t in taken] == [
        ("met", "weather", "Met Office", "verified")
    ]
    assert refused[0].place.endswith("[1]")
    assert refused[0].field == "name"


def test_one_tool_alone_is_a_document(tmp_path: Path) -> None:
    taken, _ = read(open_source(written(tmp_path, "tool.json", json.dumps(GOOD))))
    assert [definition.name for definition in taken] == ["weather"]


def test_yaml_is_read_like_json(tmp_path: Path) -> None:
    path = written(tmp_path, "tools.yaml", "tools:\n  - name: weather\n    description: Forecast.\n    tags: [a, on]\n")
    taken, _ = read(open_source(path))
    assert [(definition.name, definition.tags) for definition in taken] == [("weather", ("a", "on"))]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"tools": [\n  {"name": "x",}\n]}', "line 2, column"),
        ("a.json", "", "is empty"),
        ("a.json", "[]", "holds no tools"),
        ("a.jsonl", "", "holds no tools"),
        ("a.jsonl", "\n\n", "holds no tools"),
        ("a.json", '{"tools": []}', "holds no tools"),
        ("a.json", '{"items": 3}', "holds no list of tools"),
        ("a.json", "42", "holds no list of tools"),
        ("a.json", b"\xff\xfe{}", "not UTF-8"),
        ("a.yaml", "tools: [\n  - x", "not YAML"),
        ("a.yml", "tools:\n\t- x", "line 2, column 1"),
    ],
)
def test_a_document_that_holds_no_tools_says_what_is_wrong(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    error = failure(open_source(written(tmp_path, name, content)))
    assert said in str(error)
    assert name in error.source


@pytest.mark.parametrize("name", ["none.json", "none.jsonl", "none.yaml"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    error = failure(open_source(str(tmp_path / name)))
    assert "there is no such file" in error.reason


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "tools.json").mkdir()
    assert "cannot be read" in failure(open_source(str(tmp_path / "tools.json"))).reason


def test_the_canonical_test_set_shape_is_recognised(data_directory: Path) -> None:
    source = open_source(str(data_directory / "metatool" / "tools.jsonl"))
    taken, refused = read(source)
    assert (len(taken), refused, source.total) == (199, [], 199)
