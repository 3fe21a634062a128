"""YAML from strangers: plain JSON values only, and no more of them than the text is worth."""

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from indexer.sources.json_text import InvalidJsonError

if TYPE_CHECKING:
    from yaml import CSafeLoader, Node, ScalarNode

MAX_YAML_VALUES: Final = 2_000_000
"""With aliases written out: a document of a few hundred bytes can otherwise stand for billions of values."""
MAX_YAML_DEPTH: Final = 100


def parse_yaml(data: bytes) -> object:
    """YAML -> JSON values: keys are text, dates stay text, only `true` and `false` are truth values.

    Raises: InvalidJsonError with line and column.
    """
    import yaml

    try:
        loader = _loader_class()(data)
        try:
            node = loader.get_single_node()
            return _Reader(loader).value(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise InvalidJsonError(f"not YAML: {error.problem or error.context}{where}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidJsonError(f"not YAML: {str(error).splitlines()[0]}") from error


@cache
def _loader_class() -> "type[CSafeLoader]":
    """A safe loader whose plain scalars are typed as in YAML 1.2's JSON schema."""
    import yaml

    class Loader(yaml.CSafeLoader):
        pass

    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if not tag.endswith((":timestamp", ":bool"))]
        for first, known in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    for first in "tTfF":
        resolvers.setdefault(first, []).append(("tag:yaml.org,2002:bool", re.compile(r"(?:true|True|false|False)\Z")))
    Loader.yaml_implicit_resolvers = resolvers
    return Loader


class _Reader:
    """From composed nodes to values; what an alias names is read once and shared."""

    def __init__(self, loader: "CSafeLoader") -> None:
        self._loader = loader
        self._read: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()

    def value(self, node: "Node") -> object:
        return self._sized(node, 0)[0]

    def _sized(self, node: "Node", depth: int) -> tuple[Any, int]:
        """The value and how many values it holds with aliases written out."""
        if id(node) in self._read:
            return self._read[id(node)]
        if depth > MAX_YAML_DEPTH or id(node) in self._open:
            raise InvalidJsonError(
                f"not YAML that can be read: line {node.start_mark.line + 1} is nested in itself or deeper than "
                f"{MAX_YAML_DEPTH} levels"
            )
        self._open.add(id(node))
        value, size = self._constructed(node, depth)
        self._open.discard(id(node))
        if size > MAX_YAML_VALUES:
            raise InvalidJsonError(
                f"not YAML that can be read: its aliases stand for more than {MAX_YAML_VALUES:,} values "
                f"(line {node.start_mark.line + 1})"
            )
        self._read[id(node)] = value, size
        return value, size

    def _constructed(self, node: "Node", depth: int) -> tuple[Any, int]:
        import yaml

        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node), 1
        if isinstance(node, yaml.SequenceNode):
            read = [self._sized(inner, depth + 1) for inner in node.value]
            return [value for value, _ in read], 1 + sum(size for _, size in read)
        content: dict[str, Any] = {}
        total = 1
        for key, inner in node.value:
            value, size = self._sized(inner, depth + 1)
            total += size
            if total > MAX_YAML_VALUES:
                break
            if key.tag == "tag:yaml.org,2002:merge":
                for merged in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType] - whatever was written there
                    content = {**merged, **content} if isinstance(merged, dict) else content
            elif not isinstance(key, yaml.ScalarNode):
                raise InvalidJsonError(f"not YAML that can be read: a key is no text (line {key.start_mark.line + 1})")
            else:
                content[str(key.value)] = value
        return content, total

    def _scalar(self, node: "ScalarNode") -> object:
        text = str(node.value)
        try:
            match node.tag.removeprefix("tag:yaml.org,2002:"):
                case "null":
                    return None
                case "bool":
                    return text.lower() == "true"
                case "int":
                    return self._loader.construct_yaml_int(node)
                case "float":
                    return self._loader.construct_yaml_float(node)
                case "str" | "value":
                    return text
                case _:
                    pass
        except ValueError:
            return text
        line = node.start_mark.line + 1
        raise InvalidJsonError(f"not YAML that can be read: the tag {node.tag!r} is not taken (line {line})")
