"""Google API methods from the discovery documents of google-api-python-client."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from indexer.alias import model_alias
from indexer.definition import ToolDefinition, ToolKey
from indexer.sources import SourceOptions, open_source
from indexer.sources.google import Api, GoogleSource, newest
from indexer.validation import judge
from tests.indexer.sources.reading import failure, read

pytest.importorskip("googleapiclient", reason="needs toolscout[google]")


def nothing_installed(name: str) -> None:
    """Finds no package."""


@pytest.mark.parametrize(
    ("documents", "chosen"),
    [
        (["compute.alpha", "compute.beta", "compute.v1", "compute.preview"], ["compute.v1"]),
        (["content.v2", "content.v2.1"], ["content.v2.1"]),
        (["drive.v2", "drive.v3"], ["drive.v3"]),
        (["dfareporting.v3.5", "dfareporting.v5", "dfareporting.v4"], ["dfareporting.v5"]),
        (["x.v1alpha", "x.v1beta"], ["x.v1beta"]),
        (["x.v1", "x.v2beta1"], ["x.v1"]),
        (["speech.v1", "speech.v1p1beta1"], ["speech.v1"]),
        (["cloudasset.v1p7beta1", "cloudasset.v1p1beta1"], ["cloudasset.v1p7beta1"]),
        (["x.v1beta2", "x.v1beta10"], ["x.v1beta10"]),
        (
            ["admin.directory_v1", "admin.reports_v1", "admin.reports_v1beta"],
            ["admin.directory_v1", "admin.reports_v1"],
        ),
        (["games.v1configuration"], ["games.v1configuration"]),
    ],
)
def test_the_newest_stable_version_of_each_family_is_taken(documents: list[str], chosen: list[str]) -> None:
    assert newest(documents) == chosen


def test_an_api_gives_every_method_of_its_newest_version() -> None:
    source = open_source("google:drive")
    taken, refused = read(source)
    assert refused == []
    assert len(taken) == source.total
    assert {definition.namespace for definition in taken} == {"google.drive.v3"}
    create = next(definition for definition in taken if definition.name == "permissions.create")
    assert create.input_schema["required"] == ["fileId"]
    assert {"fileId", "sendNotificationEmail", "role", "type"} <= set(create.input_schema["properties"])
    assert create.executor.config == {
        "provider": "google",
        "service": "drive.v3",
        "operation": "drive.permissions.create",
    }
    assert model_alias(create.key) == "google--drive--v3__permissions--create"
    by_name = {definition.name: definition.annotations for definition in taken}
    assert by_name["files.list"].read_only is True
    assert by_name["files.delete"].destructive is True
    assert [judge(definition) for definition in taken] == [None] * len(taken)


def test_a_version_can_be_named_and_all_can_be_asked_for() -> None:
    taken, _ = read(open_source("google:drive.v2", SourceOptions(namespace="g")))
    assert {definition.namespace for definition in taken} == {"g.drive.v2"}
    both, _ = read(open_source("google:drive,all"))
    assert {definition.namespace for definition in both} == {"google.drive.v2", "google.drive.v3"}


def test_a_body_field_never_hides_a_parameter_and_cycles_are_cut() -> None:
    document = {
        "name": "trees",
        "version": "v1",
        "title": "Trees API",
        "schemas": {
            "Node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "of the node"},
                    "child": {"$ref": "Node"},
                    "id": {"type": "string", "readOnly": True},
                },
            }
        },
        "resources": {
            "nodes": {
                "methods": {
                    "patch": {
                        "id": "trees.nodes.patch",
                        "httpMethod": "PATCH",
                        "description": "Change a node.",
                        "parameterOrder": ["name"],
                        "parameters": {
                            "name": {"type": "string", "required": True, "location": "path"},
                            "mask": {"type": "string", "repeated": True, "location": "query"},
                        },
                        "request": {"$ref": "Node"},
                        "response": {"$ref": "Node"},
                    }
                }
            }
        },
    }
    (definition,) = Api(document, "trees", "google").definitions()
    assert isinstance(definition, ToolDefinition)
    properties = definition.input_schema["properties"]
    assert list(properties) == ["name", "mask", "body_name", "child"]
    assert properties["mask"] == {"type": "array", "items": {"type": "string"}}
    assert "Fields: name, child, id" in str(properties["child"])
    assert judge(definition) is None


def test_an_api_that_is_not_there_is_answered_with_near_ones() -> None:
    error = failure(open_source("google:drve"))
    assert "no API 'drve'" in error.reason
    assert "drive" in error.fix


def test_without_the_client_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", nothing_installed)
    assert "pip install 'toolscout[google]'" in failure(open_source("google")).fix


def methods(resource: dict[str, Any]) -> Iterator[str]:
    yield from (method["id"] for method in resource.get("methods", {}).values())
    for inner in resource.get("resources", {}).values():
        yield from methods(inner)


def test_all_of_google_has_distinct_aliases() -> None:
    source = GoogleSource(all_versions=True)
    keys: list[ToolKey] = []
    for path in source.documents.values():
        document = orjson.loads(path.read_bytes())
        namespace = f"google.{document['name']}.{document['version']}"
        prefix = f"{document['name']}."
        keys += [ToolKey("default", namespace, name.removeprefix(prefix)) for name in methods(document)]
    aliases = {model_alias(key) for key in keys}
    assert len(aliases) == len(keys) == source.total
    assert len(keys) > 20_000


@pytest.mark.slow
def test_all_of_google_is_read_and_passes_the_judge() -> None:
    source = open_source("google:all")
    taken, refused = read(source)
    assert len(taken) == source.total
    assert refused == []
    assert [problem for problem in map(judge, taken) if problem] == []
