"""What kind of deed a request asks for, and what kind a tool does: enough to tell a listing from a deletion."""

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Deed: TypeAlias = Literal["read", "create", "change", "delete", "send", "run", "stop", "copy", "translate"]

_WORD: Final = re.compile(r"[^\W_]+")
_NAME_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Verbs as requests and tool names use them; the first of a name's words that is known decides.
_VERBS: Final[Mapping[Deed, str]] = {
    "read": "which what who where when how show list get describe find search see check tell read view look lookup "
    "query fetch count display inspect browse summarize summarise compare estimate",
    "create": "create make add insert put new generate register book schedule set save upload open write reserve",
    "change": "update change modify edit rename move patch set replace resize enable attach configure adjust assign "
    "share grant translate",
    "delete": "delete remove drop erase cancel clear purge revoke unshare detach destroy terminate deregister",
    "send": "send publish notify post mail email message text forward share broadcast deliver",
    "run": "start run restart reboot launch invoke execute resume trigger begin retry deploy",
    "stop": "stop pause halt suspend shutdown disable kill interrupt abort",
    "copy": "copy duplicate clone backup snapshot restore export import replicate recover",
    "translate": "translate translation",
}
_READ: Final[frozenset[Deed]] = frozenset({"read"})
_KOREAN: Final[Mapping[Deed, tuple[str, ...]]] = {
    "read": ("보여", "알려", "찾아", "조회", "검색", "확인", "목록", "얼마", "무엇", "뭐", "어떤", "몇"),
    "create": ("만들", "생성", "추가", "등록", "예약", "잡아"),
    "change": ("바꿔", "변경", "수정", "옮겨", "고쳐", "공유"),
    "delete": ("삭제", "지워", "취소", "없애", "제거"),
    "send": ("보내", "전송", "발송", "알림"),
    "run": ("시작", "실행", "재시작", "돌려"),
    "stop": ("중지", "멈춰", "정지", "꺼"),
    "copy": ("백업", "복사", "복원", "복구", "복제"),
    "translate": ("번역", "옮긴"),
}
_BY_VERB: Final[dict[str, tuple[Deed, ...]]] = {
    verb: tuple(deed for deed, verbs in _VERBS.items() if verb in verbs.split())
    for verbs in _VERBS.values()
    for verb in verbs.split()
}


def deeds_of_request(request: str) -> frozenset[Deed]:
    """The kinds of deed that the words of a request name; empty for one that names none."""
    deeds: set[Deed] = {deed for word in _WORD.findall(request.casefold()) for deed in _BY_VERB.get(word, ())}
    deeds |= {deed for deed, stems in _KOREAN.items() if any(stem in request for stem in stems)}
    # "Show me how to delete" asks to be shown, and so do "how much" and "which"; but "make … and tell …" does make.
    asks = re.match(r"\s*(?:which|what|who|where|when|how|show|list|tell)\b", request.casefold())
    return _READ if asks else frozenset(deeds)


def is_deed(word: str) -> bool:
    """Whether a word is a verb that requests and tools share."""
    return word.casefold() in _BY_VERB


def deeds_of_tool(name: str) -> frozenset[Deed]:
    """The kinds of deed that a tool's name speaks of: those of its first known verb, empty if there is none."""
    for part in _NAME_PART.findall(re.split(r"__", name)[-1].replace("-", " ")):
        if deeds := _BY_VERB.get(part.casefold()):
            return frozenset(deeds)
    return frozenset()
