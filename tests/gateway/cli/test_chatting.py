"""Talking to the model from the command line, alone and through a gateway."""

import io
import sys

import pytest

from tests.gateway.cli.conftest import Run


def test_a_message_is_answered_with_what_the_tools_gave(catalog: str, run: Run) -> None:
    said = run("chat", "Forecast the weather of Seoul.")
    assert said.code == 0
    # Tools registered from a file belong to the caller: the model's call is shown, not run.
    assert "weather__get_weather" in said.out
    assert "caller to run" in said.out


def test_a_conversation_goes_on_until_the_end_of_input(catalog: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("xyzzy\n\nxyzzy\n"))
    said = run("chat")
    assert said.code == 0
    assert said.out.count("I found no tool that fits") == 2


def test_it_says_when_no_real_model_takes_part(run: Run) -> None:
    assert "scripted" in run("chat", "hello").err
