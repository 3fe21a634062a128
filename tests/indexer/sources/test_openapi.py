"""OpenAPI and Swagger documents as tools."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from indexer.definition import ToolDefinition
from indexer.sources import SourceOptions, open_source
from indexer.sources.openapi import OpenApiSource
from indexer.validation import judge
from tests.indexer.sources.reading import failure, read

PETS = """
openapi: 3.0.3
info: {title: "Pet Store!", version: 1.0.2}
servers: [{url: "https://{env}.pets.io/v1", variables: {env: {default: api}}}]
paths:
  /pets/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}, description: Which <b>pet</b>}
    get:
      operationId: getPet
      summary: Get a pet
      description: Never hides one.
      tags: [pets]
      deprecated: true
      parameters:
        - {name: verbose, in: query, schema: {type: boolean, nullable: true}}
        - {name: id, in: query, schema: {type: string}}
        - {name: Authorization, in: header, schema: {type: string}}
        - {name: X-Trace, in: header, required: true, schema: {type: string}}
      responses: {200: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}
    put:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
    delete:
      requestBody: {content: {application/json: {schema: {$ref: 'http://127.0.0.1:9/x'}}}}
  /pets:
    post:
      requestBody: {content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Nope'}}}}}
    patch:
      requestBody: {content: {application/json: {schema: {type: array, items: {type: string}}}}}
components:
  schemas:
    Pet:
      allOf:
        - {type: object, required: [id, name], properties: {id: {type: integer, readOnly: true}}}
        - type: object
          properties:
            name: {type: string, description: Its name, pattern: '^(?=x)y'}
            age: {type: number, minimum: 0, exclusiveMinimum: true}
            password: {type: string, writeOnly: true}
            owner: {$ref: '#/components/schemas/Owner'}
    Owner: {type: object, properties: {pets: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}
"""

SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Old", "version": "2"},
    "host": "old.io",
    "basePath": "/api",
    "schemes": ["http"],
    "paths": {
        "/files/{name}": {
            "post": {
                "parameters": [
                    {"name": "name", "in": "path", "required": True, "type": "string"},
                    {"name": "upload", "in": "formData", "type": "file"},
                ],
                "responses": {"200": {"schema": {"type": "string"}}},
            },
            "put": {
                "parameters": [
                    {"name": "meta", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Meta"}},
                    {"name": "limit", "in": "query", "type": "integer", "maximum": 5, "exclusiveMaximum": True},
                ]
            },
        }
    },
    "definitions": {"Meta": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
}


def written(folder: Path, content: str, name: str = "api.yaml") -> str:
    (folder / name).write_text(content)
    return str(folder / name)


def loaded(document: dict[str, Any]) -> OpenApiSource:
    return OpenApiSource("api.json", loaded=document)


@pytest.fixture
def pets(tmp_path: Path) -> dict[str, ToolDefinition]:
    taken, _ = read(open_source(written(tmp_path, PETS)))
    return {definition.name: definition for definition in taken}


def test_parameters_and_body_become_one_object(pets: dict[str, ToolDefinition]) -> None:
    get = pets["getPet"]
    assert get.namespace == "pet-store.1.0.2"
    assert get.title == "Get a pet"
    assert get.description == "Get a pet\nNever hides one."
    assert get.tags == ("pets", "deprecated")
    assert get.annotations.read_only is True
    assert get.input_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "description": "Which pet"},
            "verbose": {"type": ["boolean", "null"]},
            "query_id": {"type": "string"},
            "X-Trace": {"type": "string"},
        },
        "required": ["id", "X-Trace"],
    }


def test_how_the_call_is_sent_is_kept_for_whoever_makes_it(pets: dict[str, ToolDefinition]) -> None:
    executor = pets["getPet"].executor
    assert executor.kind == "client"
    assert executor.config["method"] == "GET"
    assert executor.config["server"] == "https://api.pets.io/v1"
    assert executor.config["arguments"]["query_id"] == {"in": "query", "name": "id"}
    assert pets["patch_pets"].executor.config["arguments"] == {"body": {"in": "body"}}


def test_schemas_are_those_of_the_direction(pets: dict[str, ToolDefinition]) -> None:
    put = pets["put_pets_id"].input_schema
    assert put["required"] == ["id", "name"]
    assert set(put["properties"]) == {"id", "name", "age", "password", "owner"}
    assert put["properties"]["name"] == {"type": "string", "description": "Its name"}
    assert put["properties"]["age"] == {"type": "number", "exclusiveMinimum": 0}
    output = pets["getPet"].output_schema or {}
    assert set(output["properties"]) == {"id", "name", "age", "owner"}


def test_every_schema_passes_the_judge(pets: dict[str, ToolDefinition]) -> None:
    assert [judge(definition) for definition in pets.values()] == [None] * len(pets)


def test_a_reference_outward_or_to_nowhere_costs_one_operation_only(tmp_path: Path) -> None:
    taken, refused = read(open_source(written(tmp_path, PETS)))
    assert len(taken) == 3
    assert {entry.place: entry.reason for entry in refused} == {
        "DELETE /pets/{id}": "'http://127.0.0.1:9/x' points outside the document, and nothing is fetched",
        "POST /pets": "'#/components/schemas/Nope' leads nowhere",
    }


def test_swagger_is_read_too(tmp_path: Path) -> None:
    taken, _ = read(open_source("openapi:" + written(tmp_path, json.dumps(SWAGGER), "old.json")))
    post, put = sorted(taken, key=lambda definition: definition.name)
    assert set(post.input_schema["properties"]) == {"name", "upload"}
    assert post.executor.config["server"] == "http://old.io/api"
    assert post.output_schema == {"type": "string"}
    assert put.input_schema == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "limit": {"type": "integer", "exclusiveMaximum": 5}},
        "required": ["name"],
    }


class Order(BaseModel):
    item: str
    count: int | None = None


def test_a_real_document_of_openapi_3_1_is_read() -> None:
    app = FastAPI(title="Shop", version="3")

    @app.post("/orders/{customer}")
    def place_order(customer: str, order: Order, express: bool = False) -> Order:  # pyright: ignore[reportUnusedFunction] - registered by the decorator
        """Place an order."""
        return order

    document = app.openapi()
    assert document["openapi"].startswith("3.1")
    taken, refused = read(OpenApiSource("shop", SourceOptions(namespace="shop"), loaded=document))
    assert refused == []
    assert taken[0].namespace == "shop"
    assert taken[0].input_schema["required"] == ["customer", "item"]
    assert taken[0].input_schema["properties"]["count"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]


def with_schemas(schemas: dict[str, Any]) -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/s0"}}}}
    return {
        "openapi": "3.0.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/x": {"post": {"requestBody": body}}},
        "components": {"schemas": schemas},
    }


def to(number: int) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/s{number}"}


HOSTILE: dict[str, dict[str, Any]] = {
    "wide and deep": {
        f"s{i}": {"type": "object", "properties": {f"p{k}": to(i + 1) for k in range(200)}} for i in range(7)
    }
    | {"s7": {"type": "string"}},
    "doubling": {f"s{i}": {"allOf": [to(i + 1)] * 2} for i in range(60)}
    | {"s60": {"type": "object", "properties": {"a": {"type": "string"}}}},
    "circle": {"s0": {"allOf": [to(0)], "properties": {"a": to(0)}}},
    "reference to itself": {"s0": to(0)},
    "endless chain": {f"s{i}": {"allOf": [to(i + 1)]} for i in range(5_000)} | {"s5000": {}},
    "nonsense": {
        "s0": {"type": 7, "properties": [1], "required": "a", "items": 3, "allOf": 4, "enum": 5, "anyOf": [1, None]}
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_schemas_that_would_unfold_without_end_are_cut(name: str) -> None:
    started = time.process_time()
    taken, refused = read(loaded(with_schemas(HOSTILE[name])))
    assert time.process_time() - started < 2.0
    assert len(taken) + len(refused) == 1
    for definition in taken:
        assert judge(definition) is None


USELESS: list[tuple[dict[str, Any], str]] = [
    ({"openapi": "4.0.0", "paths": {}}, "is no OpenAPI document"),
    ({"swagger": "1.2"}, "is no OpenAPI document"),
    ({"openapi": "3.0.0", "info": {}, "paths": {}}, "holds no tools"),
    ({"openapi": "3.1.0"}, "holds no tools"),
    ({"openapi": "3.0.0", "paths": {f"/{i}": {"get": {}} for i in range(10_001)}}, "defines 10,001 operations"),
]


@pytest.mark.parametrize(("document", "said"), USELESS)
def test_a_document_that_cannot_be_taken_says_why(document: dict[str, Any], said: str) -> None:
    assert said in str(failure(loaded(document)))


def test_two_operations_of_one_name_are_told_apart_by_place() -> None:
    operation = {"operationId": "same"}
    taken, refused = read(loaded({"openapi": "3.0.0", "paths": {"/a": {"get": operation, "put": operation}}}))
    assert len(taken) == 1
    assert refused[0].place == "PUT /a"
    assert "as GET /a" in refused[0].reason


def test_a_name_that_cannot_be_held_is_refused() -> None:
    _, refused = read(loaded({"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "a\u202eb"}}}}))
    assert refused[0].field == "name"


def test_a_yaml_bomb_is_refused(tmp_path: Path) -> None:
    lines = ["openapi: 3.0.0", "a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(97 + i)}: &{chr(97 + i)} [{', '.join([f'*{chr(96 + i)}'] * 10)}]" for i in range(1, 12)]
    error = failure(open_source("openapi:" + written(tmp_path, "\n".join(lines))))
    assert "aliases stand for more than" in error.reason


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/api.yaml":
            self.send_response(200)
            self.send_header("content-type", "application/yaml")
            self.end_headers()
            self.wfile.write(PETS.replace("https://{env}.pets.io/v1", "/v1").encode())
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("location", "http://169.254.169.254/latest")
            self.end_headers()
        elif self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b" " * 1_000_000)
        else:
            self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda request, client_address: None  # the endless answer is cut by the reader
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_document_is_read_from_a_url(site: str) -> None:
    taken, _ = read(open_source(f"openapi:{site}/api.yaml"))
    assert len(taken) == 3
    assert taken[0].executor.config["server"] == f"{site}/v1"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/nothing", "answers 404"),
        ("/moved", "redirects to http://169.254.169.254/latest"),
        ("/endless", "larger than 32 MiB"),
    ],
)
def test_a_url_that_does_not_give_the_document_says_what_it_gave(site: str, path: str, said: str) -> None:
    assert said in failure(open_source(f"openapi:{site}{path}")).reason


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/api.json", "http://[bad/"])
def test_a_url_that_cannot_be_reached_is_named(url: str) -> None:
    error = failure(open_source(f"openapi:{url}"))
    assert "cannot be reached" in error.reason
    assert error.source == url


ODD_VALUES: list[tuple[str, Any]] = [
    ("servers", [{"url": "http://[bad"}]),
    ("type", [["string"], {"a": 1}, "string"]),
    ("required", [{}, "q", 5]),
]


@pytest.mark.parametrize(("where", "junk"), ODD_VALUES)
def test_values_of_no_known_kind_stop_no_operation(where: str, junk: object) -> None:
    parameter: dict[str, object] = {"name": "q", "in": "query", "schema": {"type": "string"}}
    document: dict[str, Any] = {
        "openapi": "3.0.0",
        "info": {"title": "Odd"},
        "paths": {"/a": {"get": {"parameters": [parameter]}}, "/b": {"get": {}}},
    }
    if where == "servers":
        document["servers"] = junk
    else:
        parameter["schema"] = {"type": "string", where: junk}
    source = OpenApiSource("http://example.org/openapi.json", SourceOptions(), loaded=document)
    taken, refused = read(source)
    assert ([definition.name for definition in taken], refused) == (["get_a", "get_b"], [])
