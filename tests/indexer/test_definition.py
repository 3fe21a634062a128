"""The value that everything else holds by the thousand."""

import tracemalloc

from indexer.definition import ToolDefinition


def test_an_encoded_definition_takes_no_more_memory_than_its_text() -> None:
    definitions = [ToolDefinition(name=f"tool_{number}", description="x" * 2_000) for number in range(200)]
    tracemalloc.start()
    try:
        held = sum(len(definition.encoded) for definition in definitions)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held > 200 * 2_000
    assert taken < 1.2 * held
