"""docs/advisors.md runs, from its first line to its last, and names every advisor."""

import ast
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gateway
from indexer import ToolDefinition, ToolIndex
from tests.gateway.catalog import catalog

PAGE = (Path(__file__).parents[3] / "docs" / "advisors.md").read_text(encoding="utf-8")


async def open_catalog(definitions: Iterable[ToolDefinition]) -> ToolIndex:
    return await catalog(definitions)


async def test_every_snippet_of_the_page_runs() -> None:
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(snippets) > 10
    # Functions defined by a snippet are read by `inspect`, which asks for their module.
    namespace: dict[str, Any] = {"__name__": __name__, "open_catalog": open_catalog}
    for number, snippet in enumerate(snippets, start=1):
        code = compile(snippet, f"advisors.md, snippet {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, namespace)
        if inspect.isawaitable(result):
            await result


def test_every_advisor_and_its_order_is_on_the_page() -> None:
    advisors = [name for name in gateway.__all__ if name.endswith("Advisor") and name not in _PROTOCOLS]
    table = PAGE.partition("## The chain")[2].partition("\n## ")[0]
    assert [name for name in advisors if f"| `{name}` |" not in table] == []


_PROTOCOLS = {"Advisor", "BaseAdvisor", "CallAdvisor", "HistoryAdvisor", "StreamAdvisor"}
