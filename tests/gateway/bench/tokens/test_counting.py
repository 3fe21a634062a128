"""Which vocabulary a model is counted with."""

import pytest

from gateway.bench.tokens.counting import counting_for


@pytest.mark.parametrize("model", ["", "gpt-4o-mini", "gpt-5.4", "gpt-6-sol", "o3", "openai/gpt-4.1"])
def test_newer_openai_models_are_counted_exactly_with_o200k(model: str) -> None:
    assert counting_for(model)[:3] == ("o200k_base", "openai", True)


@pytest.mark.parametrize("model", ["gpt-4", "gpt-4-0613", "gpt-3.5-turbo"])
def test_older_ones_with_cl100k(model: str) -> None:
    assert counting_for(model)[:3] == ("cl100k_base", "openai", True)


@pytest.mark.parametrize("model", ["claude-opus-4.5", "qwen3-32b", "gemini-3-pro"])
def test_others_are_an_estimate_and_called_one(model: str) -> None:
    assert "an estimate" in counting_for(model).label
