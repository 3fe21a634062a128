"""AWS operations from botocore's own files."""

import gzip
import importlib.util
import re
from pathlib import Path

import orjson
import pytest

from indexer.alias import model_alias
from indexer.definition import ToolKey
from indexer.sources import SourceOptions, open_source
from indexer.sources.aws import AwsSource, ServiceModel
from indexer.validation import judge
from tests.indexer.sources.reading import failure, read

HASHED = re.compile(r"_0[a-z2-7]{10}\Z")

pytest.importorskip("botocore", reason="needs toolscout[aws]")


def nothing_installed(name: str) -> None:
    """Finds no package."""


def test_a_service_gives_every_operation_of_its_newest_version() -> None:
    source = open_source("aws:s3,dynamodb")
    taken, refused = read(source)
    assert refused == []
    assert len(taken) == source.total
    assert {(t.namespace, t.version) for t in taken} == {("aws.s3", "2006-03-01"), ("aws.dynamodb", "2012-08-10")}
    put = next(t for t in taken if t.name == "PutItem")
    assert put.title == "Amazon DynamoDB PutItem"
    assert put.description.startswith("Creates a new item, or replaces an old item with a new item.")
    assert "<" not in put.description
    assert len(put.description) <= 1_510
    assert put.input_schema["required"] == ["TableName", "Item"]
    assert put.input_schema["properties"]["ReturnValues"]["enum"][0] == "NONE"
    assert put.output_schema is not None
    assert put.executor.kind == "simulated"
    assert put.executor.config == {"provider": "aws", "service": "dynamodb", "operation": "PutItem"}
    assert [judge(definition) for definition in taken] == [None] * len(taken)


def test_what_is_read_and_what_is_destroyed_is_annotated() -> None:
    taken, _ = read(open_source("aws:sqs"))
    by_name = {definition.name: definition.annotations for definition in taken}
    assert by_name["GetQueueUrl"].read_only is True
    assert by_name["DeleteQueue"].destructive is True
    assert by_name["SendMessage"].read_only is None


def test_the_namespace_of_the_operator_comes_before_the_service() -> None:
    taken, _ = read(open_source("aws:sqs", SourceOptions(namespace="cloud", tenant="acme")))
    assert {(t.tenant, t.namespace) for t in taken} == {("acme", "cloud.sqs")}


def test_a_shape_that_holds_itself_is_cut_with_its_fields_named() -> None:
    model = {
        "metadata": {"serviceFullName": "Trees"},
        "operations": {"Grow": {"name": "Grow", "http": {"method": "POST"}, "input": {"shape": "Node"}}},
        "shapes": {
            "Node": {"type": "structure", "members": {"child": {"shape": "Node"}, "name": {"shape": "Text"}}},
            "Text": {"type": "string"},
        },
    }
    (definition,) = ServiceModel(model, "trees", "aws.trees").definitions()
    text = str(definition.input_schema)
    assert "Fields: child, name" in text
    assert judge(definition) is None


def test_a_service_that_is_not_there_is_answered_with_near_ones() -> None:
    error = failure(open_source("aws:dynamo"))
    assert "no service 'dynamo'" in error.reason
    assert "dynamodb" in error.fix


def test_without_botocore_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", nothing_installed)
    error = failure(open_source("aws"))
    assert "pip install 'toolscout[aws]'" in error.fix


def test_a_file_that_is_damaged_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "botocore" / "data" / "odd" / "2020-01-01").mkdir(parents=True)
    (tmp_path / "botocore" / "data" / "odd" / "2020-01-01" / "service-2.json").write_text("{")
    (tmp_path / "botocore" / "__init__.py").write_text("")
    spec = importlib.util.spec_from_file_location("botocore", tmp_path / "botocore" / "__init__.py")

    def planted(name: str) -> object:
        return spec

    monkeypatch.setattr(importlib.util, "find_spec", planted)
    assert "service-2.json cannot be read" in failure(open_source("aws")).reason


def test_all_of_aws_has_distinct_readable_aliases() -> None:
    source = AwsSource()
    keys = [
        ToolKey("default", f"aws.{service}", name)
        for service, path in source.models.items()
        for name in orjson.loads(gzip.decompress(path.read_bytes()))["operations"]
    ]
    aliases = {model_alias(key) for key in keys}
    assert len(aliases) == len(keys) == source.total
    assert len(keys) > 15_000
    assert sum(bool(HASHED.search(alias)) for alias in aliases) < len(keys) / 50


@pytest.mark.slow
def test_all_of_aws_is_read_and_passes_the_judge() -> None:
    source = open_source("aws")
    taken, refused = read(source)
    assert len(taken) == source.total
    assert refused == []
    assert [problem for problem in map(judge, taken) if problem] == []
