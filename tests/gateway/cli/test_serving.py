"""Serving: one gateway a home, and the refusals that come before it."""

import tomllib
from pathlib import Path

import pytest

from gateway.home import ServerRecord
from gateway.remote import RemoteGateway
from tests.gateway.cli.conftest import Run


def test_more_workers_need_a_qdrant_server(run: Run) -> None:
    refused = run("serve", "--workers", "2")
    assert refused.code == 2
    assert "TOOLSCOUT_QDRANT_URL" in refused.err


def test_a_second_gateway_over_the_same_home_is_sent_to_the_first(run: Run, gateway: ServerRecord) -> None:
    refused = run("serve", "--port", "0")
    assert refused.code == 3
    assert gateway.url in refused.err


def test_a_port_in_use_is_one_clear_line(
    run: Run, gateway: ServerRecord, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLSCOUT_HOME", str(home))
    refused = run("serve", "--port", gateway.url.rpartition(":")[2])
    assert refused.code == 2
    assert "--port" in refused.err


def test_what_is_registered_over_http_is_found_by_the_command(run: Run, gateway: ServerRecord) -> None:
    RemoteGateway(gateway.url).post("/v1/tools", {"name": "water_plants", "description": "Water the plants."})
    assert "water_plants" in run("search", "water the plants").out
    assert run("delete", "water_plants").code == 0


def test_doctor_sees_the_gateway_and_the_catalog(run: Run, gateway: ServerRecord) -> None:
    findings = {finding["what"]: finding for finding in run("doctor", "--json").json["findings"]}
    assert gateway.url in findings["running gateway"]["detail"]
    assert findings["catalog"]["ok"]
    assert "tools" in findings["catalog"]["detail"]
    assert "GB free" in findings["home"]["detail"]
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in project["optional-dependencies"].keys() - {"demo", "training"}:  # of others; for who makes encoders
        assert "installed" in findings[f"extra {extra}"]["detail"]


def test_doctor_tells_what_is_wrong_with_a_catalog_and_points_nowhere_else(run: Run, home: Path) -> None:
    home.mkdir()
    (home / "store").write_text("no folder")
    told = run("doctor")
    assert told.code == 1
    assert "Cannot make the store" in " ".join(told.out.split())
    assert "see above" not in told.out
