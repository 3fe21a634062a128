"""`toolscout migrate`, as a user types it."""

from pathlib import Path

import pytest

from tests.gateway.cli.conftest import TOOLS, Run


@pytest.fixture
def indexed(run: Run, tools_file: Path) -> None:
    assert run("index", str(tools_file)).code == 0


@pytest.mark.usefixtures("indexed")
def test_a_catalog_is_moved_and_moved_back(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = run("migrate", "--encoder", "static", "--json")
    assert moved.code == 0, moved.err
    assert (moved.json["embedded"], moved.json["kept"]) == (len(TOOLS), str(home / "store.before"))
    monkeypatch.setenv("TOOLSCOUT_ENCODER", "static")
    assert run("search", "refund an order", "--json").json["results"][0]["name"] == "refund_order"
    assert "static" in run("stats", "--json").json["encoder_id"]
    back = run("migrate", "--rollback")
    assert back.code == 0, back.err
    assert f"0 tools embedded, {len(TOOLS)} had vectors of it already" in back.out
    assert "set TOOLSCOUT_ENCODER=hashing" in back.out


@pytest.mark.usefixtures("indexed")
def test_a_catalog_goes_back_and_forth_whatever_the_environment_says(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSCOUT_ENCODER", "static")  # as the encoder to move to is set for the gateway, too
    assert run("migrate", "--json").json["encoder"] == "static"
    for name in ("hashing", "static", "hashing", "static"):
        back = run("migrate", "--rollback", "--json")
        assert back.code == 0, back.err
        assert (back.json["encoder"], back.json["embedded"]) == (name, 0)
        assert back.json["after"].startswith(name)


def test_an_empty_catalog_is_moved_and_moved_back(run: Run) -> None:
    run("list")  # which makes it
    assert "an empty catalog -> static-" in run("migrate", "--encoder", "static").out
    back = run("migrate", "--rollback", "--json")
    assert back.code == 0, back.err
    assert (back.json["encoder"], back.json["embedded"], back.json["reused"]) == ("hashing", 0, 0)


@pytest.mark.usefixtures("indexed")
def test_moving_to_the_same_encoder_says_that_nothing_was_done(run: Run) -> None:
    same = run("migrate", "--encoder", "hashing")
    assert same.code == 0
    assert "nothing was done" in same.out


def test_without_a_catalog_it_says_what_to_do(run: Run) -> None:
    empty = run("migrate", "--encoder", "hashing")
    assert empty.code == 3
    assert "Set TOOLSCOUT_ENCODER, and index" in empty.err


def test_an_unknown_encoder_is_a_wrong_command_line(run: Run) -> None:
    wrong = run("migrate", "--encoder", "nobody")
    assert wrong.code == 2
    assert "no encoder is called 'nobody'" in wrong.err


def test_a_setting_that_cannot_be_used_is_a_wrong_command_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSCOUT_QDRANT_WRITE_CONSISTENCY", "3")
    wrong = run("stats")
    assert wrong.code == 2
    assert "TOOLSCOUT_QDRANT_WRITE_CONSISTENCY=3 is more than there are replicas" in wrong.err


def test_a_move_back_takes_no_encoder(run: Run) -> None:
    wrong = run("migrate", "--rollback", "--encoder", "static")
    assert wrong.code == 2
    assert "leave --encoder out" in wrong.err
