"""Which source a specification means."""

import pytest

from indexer.errors import SourceError
from indexer.sources import SourceOptions, open_source


@pytest.mark.parametrize(
    ("spec", "kind", "name", "again"),
    [
        ("tools.jsonl", "NdjsonSource", "tools.jsonl", "tools.jsonl"),
        ("a b/tools.NDJSON", "NdjsonSource", "a b/tools.NDJSON", "a b/tools.NDJSON"),
        ("tools.json", "FileSource", "tools.json", "tools.json"),
        ("tools.yml", "FileSource", "tools.yml", "tools.yml"),
        ("openapi:api.yaml", "OpenApiSource", "api.yaml", "openapi:api.yaml"),
        ("openapi:https://x.io/a.json", "OpenApiSource", "https://x.io/a.json", "openapi:https://x.io/a.json"),
        ("python:shop.tools", "PythonSource", "shop.tools", "python:shop.tools"),
        ("python:shop.tools:refund", "PythonSource", "shop.tools:refund", "python:shop.tools:refund"),
        ("mcp:uvx mcp-server-git --repo x", "McpSource", "git", "mcp:uvx mcp-server-git --repo x"),
        ("mcp:https://mcp.x.io/mcp", "McpSource", "mcp.x.io", "mcp:https://mcp.x.io/mcp"),
        ("mcp+http://127.0.0.1:9/mcp", "McpSource", "127.0.0.1-9", "mcp:http://127.0.0.1:9/mcp"),
        ("aws", "AwsSource", "aws", "aws"),
        ("aws:ec2, s3", "AwsSource", "aws", "aws:ec2,s3"),
        ("google", "GoogleSource", "google", "google"),
        ("google:compute", "GoogleSource", "google", "google:compute"),
        ("google:all", "GoogleSource", "google", "google:all"),
    ],
)
def test_every_form_opens_its_source(spec: str, kind: str, name: str, again: str) -> None:
    source = open_source(spec)
    assert (type(source).__name__, source.name, source.spec) == (kind, name, again)
    assert open_source(source.spec).spec == source.spec


def test_the_operators_namespace_names_an_mcp_source() -> None:
    assert open_source("mcp:npx server", SourceOptions(namespace="files")).name == "files"


@pytest.mark.parametrize("spec", ["", "tools", "tools.txt", "openapi:", "mcp:", "ftp://x/tools.json.gz", "s3:bucket"])
def test_anything_else_is_answered_with_the_forms(spec: str) -> None:
    with pytest.raises(SourceError) as caught:
        open_source(spec)
    for form in ("PATH.jsonl", "openapi:", "python:", "mcp:", "aws", "google"):
        assert form in caught.value.fix


def test_a_url_alone_is_asked_what_it_is() -> None:
    with pytest.raises(SourceError, match=r"openapi:https://x\.io/a or mcp:https://x\.io/a"):
        open_source("https://x.io/a")
