"""Where schemas stand inside a JSON Schema, and how many of them one value must satisfy."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard, cast
from urllib.parse import unquote

MAX_REFERENCE_CHAIN: Final = 150
"""Subschemas and references one inside the other, references followed: bounds our own recursion."""
MAX_UNFOLDED: Final = 10_000
"""Subschemas that apply to one value once references are followed: bounds what `allOf` doubling costs."""

_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else")
_IN_PLACE_MAPS: Final = ("dependentSchemas", "dependencies")
_CHILD: Final = (
    "items", "additionalItems", "unevaluatedItems", "contains",
    "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
)  # fmt: skip
_CHILD_LISTS: Final = ("prefixItems", "items")
_CHILD_MAPS: Final = ("properties", "patternProperties")
_DEFINITIONS: Final = ("$defs", "definitions")
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_HOLDS_SCHEMA: Final = frozenset({*_IN_PLACE, *_CHILD})
_HOLDS_LIST: Final = frozenset({*_IN_PLACE_LISTS, *_CHILD_LISTS})
_HOLDS_MAP: Final = frozenset({*_IN_PLACE_MAPS, *_CHILD_MAPS, *_DEFINITIONS})

Path = tuple[str | int, ...]
"""The keys and positions that lead from the root of a value to a part of it."""
Schema = Mapping[str, Any]


def is_object(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether a value is a JSON object, but for its keys, which may still be no strings."""
    # Nearly all are dicts, or nothing; to ask an abstract class takes several times as long.
    return type(value) is dict or (value is not None and isinstance(value, Mapping))


def dotted(field: str, path: Path) -> str:
    """A place as people write it, `input_schema.properties.a[0]`; the middle of a long one is left out."""
    text = field
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text if len(text) <= 200 else text[:100] + "…" + text[-90:]


def subschemas(schema: Schema) -> Iterator[tuple[Path, Schema]]:
    """Every object that stands where a schema stands, the root first, references not followed."""
    stack: list[tuple[Path, Any]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if not is_object(node):
            continue
        yield path, node
        for keyword, value in node.items():
            if keyword in _HOLDS_SCHEMA and is_object(value):
                stack.append(((*path, keyword), value))
            elif keyword in _HOLDS_LIST and isinstance(value, list | tuple):
                stack.extend(((*path, keyword, i), inner) for i, inner in enumerate(cast(Sequence[Any], value)))
            elif keyword in _HOLDS_MAP and is_object(value):
                stack.extend(((*path, keyword, name), inner) for name, inner in value.items())


def _listed(schema: Schema, keyword: str) -> Sequence[Any]:
    value = schema.get(keyword)
    return cast(Sequence[Any], value) if isinstance(value, list | tuple) else ()


def mapped(schema: Schema, keyword: str) -> Mapping[str, Any]:
    """What a keyword holds if that is an object, as it should be, else nothing."""
    value = schema.get(keyword)
    return value if is_object(value) else {}


class UnfoldedWeights:
    """How many subschemas apply along one path of a value, references followed and cycles cut."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}
        self._anchors: dict[str, Schema] = {}
        for _, node in subschemas(root):
            for keyword in ("$anchor", "$dynamicAnchor", "$id", "id"):
                if isinstance(node.get(keyword), str):
                    self._anchors.setdefault(node[keyword].removeprefix("#"), node)

    def of(self, node: object, levels: int, chain: int = 0) -> int:
        """The number of subschemas that apply to a value of `levels` nested levels, at most `MAX_UNFOLDED` squared."""
        if not is_object(node):
            return 1
        key = (id(node), levels)
        if key in self._known:
            return self._known[key]
        if chain > MAX_REFERENCE_CHAIN:
            return MAX_UNFOLDED**2
        self._known[key] = 0  # a cycle met while this is being counted adds nothing
        total = 1
        for inner in self._in_place(node):
            total += self.of(inner, levels, chain + 1)
        if levels:
            total += self._children(node, levels - 1, chain + 1)
        self._known[key] = min(total, MAX_UNFOLDED**2)
        return self._known[key]

    def _in_place(self, schema: Schema) -> list[object]:
        inner: list[object] = [schema[keyword] for keyword in _IN_PLACE if keyword in schema]
        for keyword in _IN_PLACE_LISTS:
            inner.extend(_listed(schema, keyword))
        for keyword in _IN_PLACE_MAPS:
            inner.extend(mapped(schema, keyword).values())
        inner.extend(self._target(schema[keyword]) for keyword in REFERENCES if isinstance(schema.get(keyword), str))
        return inner

    def _children(self, schema: Schema, levels: int, chain: int) -> int:
        """The heaviest named or placed child, and every rule that may apply to any child."""
        total = 0
        for group in (mapped(schema, "properties").values(), *(_listed(schema, key) for key in _CHILD_LISTS)):
            heaviest = 0
            for inner in group:
                heaviest = max(heaviest, self.of(inner, levels, chain))
            total += heaviest
        for inner in (
            *(schema[keyword] for keyword in _CHILD if keyword in schema),
            *mapped(schema, "patternProperties").values(),
        ):
            total += self.of(inner, levels, chain)
        return total

    def _target(self, reference: str) -> object:
        pointer = unquote(reference.removeprefix("#"))
        if pointer and not pointer.startswith("/"):
            return self._anchors.get(pointer)
        node: Any = self._root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if is_object(node):
                node = node.get(name)
            elif isinstance(node, list) and name.isdecimal() and int(name) < len(cast(list[Any], node)):
                node = cast(list[Any], node)[int(name)]
            else:
                return None
        return node
