"""A request for one deed and a tool that does another are told apart, in every language that the lists know."""

import pytest

from indexer.deeds import DEEDS, Deed, conflicts, deeds_named, deeds_of_tool

NOTHING: set[Deed] = set()


def deeds(mask: int) -> set[Deed]:
    return {deed for bit, deed in enumerate(DEEDS) if mask & 1 << bit}


@pytest.mark.parametrize(
    ("request_text", "named"),
    [
        ("delete the old tickets", {"delete"}),
        ("Which alarms are on?", {"read"}),
        ("캘린더에 일정 추가", {"create"}),
        ("내일 회의를 취소해줘", {"delete"}),
        ("删除这个文件", {"delete"}),
        ("ファイルを削除", {"delete"}),
        ("Lösche die Datei", {"delete"}),
        ("crea un evento", {"create"}),
        ("Supprime le fichier", {"delete"}),
        ("the quick brown fox", NOTHING),
        ("add a task to a to-do list", {"create"}),
        ("read an email message", {"read"}),
        ("list the orders, then email the customer", {"read", "send"}),
        ("please post it", {"create", "send"}),
        ("an alarm when errors go over ten", NOTHING),
        ("who has the most posts", {"read"}),
        ("associate an address with a machine", {"change"}),
        ("EC2 인스턴스 재부팅", {"run"}),
        ("احذف الملف", {"delete"}),
        ("أريد حذف الملف", {"delete"}),
        ("ألغِ الحجز", {"delete"}),
        ("ابغى امسح الجدول", {"delete"}),
        ("عدّل الموعد وأرسله لسارة", {"change", "send"}),
        ("نريد أن نضيف مستخدماً", {"create"}),
        ("أنشئ دلواً", {"create"}),
        ("شغّلي الخادم", {"run"}),
        ("أوقفوا الخادم", {"stop"}),
        ("انسخ الملف ثم ترجمه", {"copy", "translate"}),
        ("ابعتلي التقرير", {"send"}),
        ("كم رسالة وصلت؟", {"read"}),
        ("رقم خالتي تغيّر، حدّثه", {"change"}),
        ("التعليق تحت الفيديو", NOTHING),
        ("عندي عرض وتسجيل وقائمة", NOTHING),
        ("فایل گزارش", NOTHING),
        ("удалите файл", {"delete"}),
        ("Нужно создать бота и запустить сервер", {"create", "run"}),
        ("какая погода", {"read"}),
    ],
)
def test_a_request_names_its_deed(request_text: str, named: set[Deed]) -> None:
    assert deeds(deeds_named(request_text)) == named


@pytest.mark.parametrize(
    ("name", "description", "done"),
    [
        ("users.messages.delete", "", {"delete"}),
        ("DescribeInstances", "", {"read"}),
        ("delete-user-list", "", {"delete"}),
        ("mcp__crm__create_lead", "", {"create"}),
        ("weather", "Gets the forecast of a city.", {"read"}),
        ("알람", "알람을 삭제한다.", {"delete"}),
        ("التقويم", "يحذف موعداً من التقويم.", {"delete"}),
        ("إضافة_موعد", "", {"create"}),
        ("geocoder", "", NOTHING),
        ("DetectText", "", NOTHING),
        ("orders.list", "", {"read"}),
        ("textMessageDelete", "", {"send"}),
    ],
)
def test_a_tool_does_what_its_first_verb_says(name: str, description: str, done: set[Deed]) -> None:
    assert deeds(deeds_of_tool(name, description)) == done


def test_undoing_what_was_not_asked_for_is_the_worst_conflict_and_silence_is_none() -> None:
    table = conflicts(deeds_named("add an event"))
    delete, read, insert = deeds_of_tool("events.delete"), deeds_of_tool("events.list"), deeds_of_tool("events.insert")

    assert table[delete] == 1.0
    assert 0.0 < table[read] < 1.0
    assert table[insert] == 0.0
    assert table[deeds_of_tool("events")] == 0.0
    assert not conflicts(0).any()
    assert conflicts(deeds_named("delete the event"))[read] == 1.0
