"""The names of the package: said to type checkers, imported when first used, and listed, all three alike."""

import ast
from importlib import import_module
from pathlib import Path

import gateway

SOURCE = ast.parse(Path(str(gateway.__file__)).read_text(encoding="utf-8"))


def names_for_type_checkers() -> dict[str, str]:
    guarded = next(node for node in SOURCE.body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_every_public_name_is_what_its_module_calls_so() -> None:
    homes = names_for_type_checkers()
    assert sorted(homes) == sorted(gateway.__all__)
    for name, module in homes.items():
        assert getattr(gateway, name) is getattr(import_module(module), name)
    assert set(gateway.__all__) <= set(dir(gateway))
