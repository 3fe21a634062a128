"""The page that shows the interface, behind a firewall too."""

import json
import re
import shutil
import subprocess

import httpx
import pytest


async def test_the_page_loads_nothing_from_other_hosts(client: httpx.AsyncClient) -> None:
    answer = await client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", answer.text)
    assert "://" not in answer.text


async def test_the_page_reads_a_description_that_holds_every_route_but_itself(client: httpx.AsyncClient) -> None:
    assert 'fetch("openapi.json")' in (await client.get("/docs")).text
    paths = (await client.get("/openapi.json")).json()["paths"]
    assert {"/v1/search", "/v1/tools", "/v1/tools/bulk", "/v1/chat/completions", "/healthz"} <= set(paths)
    assert "/docs" not in paths


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to read JavaScript")
async def test_the_script_of_the_page_can_be_read(client: httpx.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    script = page.split("<script>")[1].split("</script>")[0]
    check = f"new Function({json.dumps(script)})"
    subprocess.run(["node", "-e", check], check=True)  # noqa: ASYNC221  a moment
