"""Strings of permissively licensed programs in many languages beside English, from packages on PyPI."""

import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

import orjson

LANGUAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "ko": ("ko", "ko_KR"),
    "ja": ("ja", "ja_JP"),
    "zh": ("zh-Hans", "zh_Hans", "zh_CN", "zh"),
    "zh-Hant": ("zh-Hant", "zh_Hant", "zh_TW"),
    "es": ("es", "es_ES"),
    "de": ("de", "de_DE"),
    "fr": ("fr", "fr_FR"),
    "ru": ("ru", "ru_RU"),
    "ar": ("ar",),
    "pt": ("pt-BR", "pt_BR", "pt"),
    "it": ("it", "it_IT"),
    "tr": ("tr", "tr_TR"),
    "th": ("th",),
    "pl": ("pl", "pl_PL"),
    "nl": ("nl", "nl_NL"),
}
"""The languages of the teacher, and how programs spell them."""


@dataclass(frozen=True, slots=True)
class Program:
    """A wheel whose translations are read."""

    package: str
    version: str
    licence: str

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"

    @property
    def wheels(self) -> str:
        """The pattern of its file's name."""
        return f"{self.package.replace('-', '_')}-{self.version}-*.whl"


PROGRAMS: Final = (
    Program("homeassistant", "2026.2.3", "Apache-2.0"),
    Program("django", "6.1.3", "BSD-3-Clause"),
    Program("apache-superset", "6.1.0", "Apache-2.0"),
    Program("wagtail", "8.0.1", "BSD-3-Clause"),
    Program("horizon", "27.0.0", "Apache-2.0"),
    Program("netbox", "4.7.3", "Apache-2.0"),
    Program("jupyterlab-language-pack-ko-kr", "4.5.post3", "BSD-3-Clause"),
    Program("jupyterlab-language-pack-ja-jp", "4.5.post3", "BSD-3-Clause"),
    Program("jupyterlab-language-pack-zh-cn", "4.5.post3", "BSD-3-Clause"),
)

_LANGUAGE_OF: Final = {spelling: language for language, spellings in LANGUAGES.items() for spelling in spellings}
_LENGTHS: Final = range(4, 300)
_MO_MAGIC: Final = 0x950412DE


@dataclass(frozen=True, slots=True)
class Translation:
    """One string in English and in another language."""

    language: str
    foreign: str
    english: str


def download(folder: Path, programs: Sequence[Program] = PROGRAMS) -> list[Path]:
    """Fetch the wheels of these programs with pip, once; none of them is installed or run."""
    folder.mkdir(parents=True, exist_ok=True)
    # Some need a newer Python than ours to run; to be read they need none.
    options = ("--no-deps", "--only-binary=:all:", "--python-version=3.14", "--quiet", "--dest", str(folder))
    for program in programs:
        if not any(folder.glob(program.wheels)):
            command = [sys.executable, "-m", "pip", "download", *options, program.requirement]
            subprocess.run(command, check=True)
    return sorted(wheel for program in programs for wheel in folder.glob(program.wheels))


def read_translations(wheels: list[Path]) -> Iterator[Translation]:
    """Every string that a wheel has in English and in one of our languages, each pair once."""
    seen: set[tuple[str, str]] = set()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for language, foreign, english in (*_of_json(archive), *_of_gettext(archive)):
                foreign, english = " ".join(foreign.split()), " ".join(english.split())
                if _useful(foreign, english) and (foreign, english) not in seen:
                    seen.add((foreign, english))
                    yield Translation(language, foreign, english)


def _useful(foreign: str, english: str) -> bool:
    return (
        len(english) in _LENGTHS
        and 0 < len(foreign) < _LENGTHS.stop
        and foreign != english
        and not any(mark in english for mark in ("[%key", "http", "<", "%("))
        and any(character.isalpha() for character in foreign)
    )


def _of_json(archive: zipfile.ZipFile) -> Iterator[tuple[str, str, str]]:
    """`translations/<language>.json` beside `translations/en.json`, as Home Assistant keeps them."""
    names = set(archive.namelist())
    for name in sorted(names):
        path = PurePosixPath(name)
        language = _LANGUAGE_OF.get(path.stem)
        original = str(path.with_name("en.json"))
        if language and path.parent.name == "translations" and path.suffix == ".json" and original in names:
            english = dict(_strings(orjson.loads(archive.read(original))))
            for key, foreign in _strings(orjson.loads(archive.read(name))):
                if key in english:
                    yield language, foreign, english[key]


def _strings(node: Any, prefix: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401  # any JSON
    """(path, string) of every leaf; a service is also one string: its name, description and fields together."""
    if isinstance(node, str):
        yield prefix, node
    elif isinstance(node, dict):
        fields = cast(dict[str, Any], node)
        for key, child in fields.items():
            yield from _strings(child, f"{prefix}.{key}")
        name, description = fields.get("name"), fields.get("description")
        if isinstance(name, str) and isinstance(description, str):
            yield f"{prefix}#whole", f"{name}. {description}"


def _of_gettext(archive: zipfile.ZipFile) -> Iterator[tuple[str, str, str]]:
    for name in sorted(archive.namelist()):
        path = PurePosixPath(name)
        language = _LANGUAGE_OF.get(path.parent.parent.name)
        if language and path.suffix == ".mo" and path.parent.name == "LC_MESSAGES":
            for english, foreign in read_mo(archive.read(name)):
                yield language, foreign, english


def read_mo(content: bytes) -> Iterator[tuple[str, str]]:
    """(original, translation) of a compiled gettext catalog (GNU gettext manual, "The Format of GNU MO Files")."""
    magic, _, count, originals, translations = struct.unpack_from("<5I", content)
    if magic != _MO_MAGIC:
        return
    for number in range(count):
        pair: list[str] = []
        for table in (originals, translations):
            length, start = struct.unpack_from("<2I", content, table + 8 * number)
            # Plural forms follow each other with a NUL between; a context stands before the text, with an EOT between.
            pair.append(content[start : start + length].decode().split("\0")[0].rsplit("\x04", 1)[-1])
        if pair[0] and pair[1]:
            yield pair[0], pair[1]
