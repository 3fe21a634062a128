import json
import struct
import zipfile
from pathlib import Path

from indexer.training.translated_strings import Translation, read_mo, read_translations


def compiled(strings: dict[str, str]) -> bytes:
    """A gettext catalog of these strings, as msgfmt would write it."""
    header, count = 28, len(strings)
    texts = [text.encode() for text in (*strings, *strings.values())]
    tables, body = b"", b""
    start = header + 16 * count
    for text in texts:
        tables += struct.pack("<2I", len(text), start + len(body))
        body += text + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, count, header, header + 8 * count, 0, 0) + tables + body


def test_compiled_gettext_is_read_with_contexts_and_plurals_cut_off() -> None:
    content = compiled({"menu\x04Open file": "파일 열기", "%d file\0%d files": "파일 %d개", "": "header", "left": ""})
    assert list(read_mo(content)) == [("Open file", "파일 열기"), ("%d file", "파일 %d개")]


def test_other_bytes_are_no_catalog() -> None:
    assert list(read_mo(b"PK\x03\x04" + bytes(40))) == []


def test_json_and_gettext_strings_of_a_wheel_are_paired_with_english(tmp_path: Path) -> None:
    wheel = tmp_path / "some-1.0-py3-none-any.whl"
    folder = "app/components/light/translations"
    english = {"services": {"turn_on": {"name": "Turn on", "description": "Turns on a light."}}}
    korean = {"services": {"turn_on": {"name": "켜기", "description": "조명을 켭니다."}}}
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{folder}/en.json", json.dumps(english))
        archive.writestr(f"{folder}/ko.json", json.dumps(korean))
        archive.writestr(f"{folder}/xx.json", json.dumps(korean))
        archive.writestr("app/locale/ja/LC_MESSAGES/django.mo", compiled({"Save changes": "変更を保存"}))
    assert set(read_translations([wheel])) == {
        Translation("ko", "켜기", "Turn on"),
        Translation("ko", "조명을 켭니다.", "Turns on a light."),
        Translation("ko", "켜기. 조명을 켭니다.", "Turn on. Turns on a light."),
        Translation("ja", "変更を保存", "Save changes"),
    }
