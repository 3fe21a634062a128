"""How a provider writes tool definitions into the prompt: what their tokens are counted over.

Two layouts are known well enough to count:

- `openai`: one TypeScript namespace. OpenAI documents it for its open models (openai/harmony, `docs/format.md`,
  "Function calling"); for the hosted ones it was found by asking models and by comparing with their reported
  `usage` (hmarr/openai-chat-tokens, `src/functions.ts`). Bounds, patterns and formats of a schema have no place in it.
- `json`: one JSON object a line, as the chat templates of Qwen, Hermes and other open models do
  (`tool | tojson` in their `tokenizer_config.json`). Nothing of the schema is dropped.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast

from gateway.chat.prompt import ToolSpec

ToolLayout = Literal["openai", "json"]

_PREFACE = {"openai": "# Tools\n\n## functions\n\nnamespace functions {\n\n", "json": "# Tools\n\n<tools>\n"}
_CLOSING = {"openai": "} // namespace functions", "json": "</tools>"}
_TYPE_NAMES = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}


def layout_pieces(tools: Iterable[ToolSpec], layout: ToolLayout) -> Iterator[str]:
    """The laid-out text in pieces whose token counts add up to the count of the whole.

    Pieces are cut between a line break and a letter or a brace that opens a line, where the pre-tokenizers of o200k
    and cl100k always cut too; so a catalog of any size is counted without being held as one text.
    """
    pending = _PREFACE[layout]
    for tool in tools:
        if layout == "json":
            yield pending
            pending = _json_line(tool)
        else:
            yield pending + _comment(tool.description)
            pending = _type_line(tool)
    yield pending + _CLOSING[layout]


def lay_out_tools(tools: Iterable[ToolSpec], layout: ToolLayout) -> str:
    """The text that a provider would put into the prompt for these tools."""
    return "".join(layout_pieces(tools, layout))


def tool_to_wire(tool: ToolSpec) -> Mapping[str, Any]:
    """The tool as a Chat Completions request carries it; a client's own is the very object it sent."""
    if tool.wire is not None:
        return tool.wire
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _json_line(tool: ToolSpec) -> str:
    return json.dumps(tool_to_wire(tool), ensure_ascii=False) + "\n"


def _comment(text: str) -> str:
    return "".join(f"// {line}\n" for line in text.splitlines())


def _type_line(tool: ToolSpec) -> str:
    body = _TypeScript(tool.parameters).properties(tool.parameters, 0)
    arguments = f"(_: {{\n{body}\n}})" if body else "()"
    return f"type {tool.name} = {arguments} => any;\n\n"


class _TypeScript:
    """Writes one tool's JSON Schema as TypeScript types.

    Where a `$ref` is used its target is written out, once a tool: later uses, and cycles, say its name. Providers do
    not tell what they do with references; this counts each definition once.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._written: set[str] = set()

    def properties(self, schema: Mapping[str, Any], indent: int) -> str:
        """One line for each property, its description above it."""
        required = schema.get("required")
        required_names = set(cast("list[object]", required)) if isinstance(required, list) else set[object]()
        pad = " " * indent
        lines: list[str] = []
        for name, prop in _mapping(schema.get("properties")).items():
            member = _mapping(prop)
            lines += [f"{pad}// {line}" for line in str(member.get("description") or "").splitlines()]
            mark = "" if name in required_names else "?"
            default = f" // default: {member['default']}" if member.get("default") is not None else ""
            lines.append(f"{pad}{name}{mark}: {self.type_of(member, indent)},{default}")
        return "\n".join(lines)

    def type_of(self, schema: Mapping[str, Any], indent: int) -> str:
        """The type expression of a schema."""
        for keyword, joint in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
            if isinstance(schema.get(keyword), list):
                return joint.join(self.type_of(_mapping(option), indent) for option in schema[keyword]) or "any"
        if isinstance(schema.get("enum"), list):
            return " | ".join(_literal(value) for value in schema["enum"])
        if "const" in schema:
            return _literal(schema["const"])
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema["$ref"], indent)
        return self._named_type(schema, indent)

    def _named_type(self, schema: Mapping[str, Any], indent: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(self._named_type({**schema, "type": one}, indent) for one in cast("list[object]", kind))
        if kind == "object" or (kind is None and "properties" in schema):
            body = self.properties(schema, indent + 2)
            return f"{{\n{body}\n{' ' * indent}}}" if body else "object"
        if kind == "array":
            items = self.type_of(_mapping(schema.get("items")), indent)
            return f"Array<{items}>" if " | " in items else f"{items}[]"
        return _TYPE_NAMES.get(str(kind), "any")

    def _reference(self, reference: str, indent: int) -> str:
        name = reference.rsplit("/", 1)[-1]
        if reference in self._written:
            return name
        self._written.add(reference)
        target: Any = self._root
        for step in reference.removeprefix("#/").split("/"):
            target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
        return self.type_of(cast("Mapping[str, Any]", target), indent) if isinstance(target, Mapping) else name


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
