"""Whether definitions tell a model enough: when to use a tool, when to stop, what to pass; pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from indexer.definition import ToolDefinition, ToolKey
from indexer.document import document_of, identifier_parts
from indexer.search import RejectedTool
from indexer.validation import judge

LintLevel = Literal["error", "warning"]
LintRule = Literal[
    "unusable",
    "registered-twice",
    "name-characters",
    "name-unclear",
    "description-missing",
    "description-short",
    "description-long",
    "description-shared",
    "when-to-use",
    "when-to-stop",
    "parameters-undescribed",
]

Problem: TypeAlias = tuple[LintRule, LintLevel, str, str]
"""Rule, level, what is wrong, and what to do."""

_MODEL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What the model APIs of OpenAI and Anthropic take as a tool's name."""
_MIN_DESCRIPTION: Final = 20
_MAX_DESCRIPTION: Final = 1024
"""Characters that OpenAI's API took of a function's description for years; other endpoints still hold to it."""
_LISTED: Final = 5

_VAGUE_NAMES: Final = frozenset(
    ("action", "api", "call", "data", "do", "execute", "function", "get", "handle", "handler", "helper", "invoke")
    + ("main", "manage", "method", "misc", "process", "query", "request", "run", "service", "task", "test", "tool")
    + ("util", "utils", "new", "old", "temp", "tmp", "foo", "bar")
)

# A description need not use these words to be clear, but one that is clear nearly always does.
_WHEN_TO_USE: Final = re.compile(
    r"\b(?:use|used|useful|when|whenever|if|call (?:it|this)|in case|before|after|choose|prefer|lets you|allows you)\b"
    r"|사용|때|경우|위해|하려면|호출"
    r"|使用|使って|場合|とき|ときに|ために|呼び出"
    r"|用于|用來|用来|如果|调用|呼叫|适用|時候|时候",
    re.IGNORECASE,
)
_WHEN_TO_STOP: Final = re.compile(
    r"\b(?:once|only|stop|until|unless|never|instead|at most|no more|enough|exactly one|one \w+ at a time|single"
    r"|do not|don't|does not|doesn't|cannot|can't|not (?:for|to|when|if|again|needed)|no need|without calling)\b"
    r"|한 번|한번|만 사용|마세요|말 것|않|중지|멈추|대신|까지"
    r"|一度|一回|だけ|しないで|ないでください|ません|停止|代わりに|まで"
    r"|一次|仅|僅|只|不要|请勿|請勿|不能|而不是|直到",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One thing that its owner should mend in a definition."""

    tool: str
    """NAMESPACE/NAME, or the place of an entry that could not be read."""
    rule: LintRule
    level: LintLevel
    """An error keeps the tool from being found or told from others; a warning makes models use it worse."""
    message: str
    fix: str


def lint_tools(entries: Iterable[ToolDefinition | RejectedTool]) -> Iterator[LintFinding]:
    """Findings in the order of the entries, those between tools included."""
    keys: set[ToolKey] = set()
    described: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, RejectedTool):
            where = entry.tool or entry.place
            yield _finding(where, ("unusable", "error", f"{entry.field}: {entry.reason}", entry.fix))
            continue
        tool = str(entry.key)
        if entry.key in keys:
            fix = "Give one of them another name or namespace: of two, the later one replaces the other."
            yield _finding(tool, ("registered-twice", "error", "stands in these sources more than once", fix))
        elif entry.description:
            text = " ".join(entry.description.casefold().split())
            other = described.setdefault(text, tool)
            if other != tool:
                fix = "Say in each what the other does not do."
                yield _finding(tool, ("description-shared", "error", f"has the same description as {other}", fix))
        keys.add(entry.key)
        yield from lint_tool(entry)


def lint_tool(definition: ToolDefinition) -> Iterator[LintFinding]:
    """What is to be mended in one definition."""
    tool = str(definition.key)
    unusable = judge(definition)
    if unusable is not None:
        yield _finding(tool, ("unusable", "error", f"{unusable.field}: {unusable.reason}", unusable.fix))
        return
    for problem in (*_name_problems(definition), *_description_problems(definition), *_parameter_problems(definition)):
        yield _finding(tool, problem)


def _name_problems(definition: ToolDefinition) -> Iterator[Problem]:
    if not _MODEL_NAME.fullmatch(definition.name):
        fix = "Use 1 to 64 letters, digits, _ and -; models are shown another name otherwise."
        yield "name-characters", "warning", "the name is not one that model APIs take as it is", fix
    words = [word.casefold() for word in identifier_parts(definition.name)]
    if all(word in _VAGUE_NAMES or not word.isalpha() or (len(word) == 1 and word.isascii()) for word in words):
        fix = "Name what it does and to what: refund_order, not run."
        yield "name-unclear", "warning", "the name does not say what the tool does", fix


def _description_problems(definition: ToolDefinition) -> Iterator[Problem]:
    text = definition.description.strip()
    if not text:
        fix = "Say what it does, when to use it, and when to stop."
        yield "description-missing", "error", "there is no description: only its name can find it", fix
        return
    # A letter of Chinese, Japanese or Korean says as much as several of English.
    length = sum(1 if character < "\u2e80" else 3 for character in text)
    if length < _MIN_DESCRIPTION or _words(text) <= _words(" ".join(identifier_parts(definition.name))):
        fix = "Say what it does, to what, and what comes back."
        yield "description-short", "warning", "the description says no more than the name", fix
    if len(text) > _MAX_DESCRIPTION:
        fix = f"Cut it to {_MAX_DESCRIPTION} characters: every round of a conversation pays for all of it."
        yield "description-long", "warning", f"the description has {len(text):,} characters", fix
    if not _WHEN_TO_USE.search(text):
        fix = "Add when to use it: 'Use it when a customer wants their money back.'"
        yield "when-to-use", "warning", "the description does not say when to use the tool", fix
    if not _WHEN_TO_STOP.search(text):
        fix = "Add when to stop, or what it is not for: 'Call it once for each order; not for unpaid ones.'"
        yield "when-to-stop", "warning", "the description does not say when to stop, or what the tool is not for", fix


def _parameter_problems(definition: ToolDefinition) -> Iterator[Problem]:
    document = document_of(definition)
    if not document.parameter_names:
        return
    pairs = zip(document.parameter_names.split("\n"), document.parameter_descriptions.split("\n"), strict=True)
    bare = [name for name, said in pairs if _words(said) <= _words(" ".join(identifier_parts(name)))]
    if bare:
        named = ", ".join(bare[:_LISTED]) + (f" and {len(bare) - _LISTED} more" if len(bare) > _LISTED else "")
        fix = "Say what to pass, in which form, with an example: 'The order's number, A-1042 say.'"
        yield "parameters-undescribed", "warning", f"parameters without a description: {named}", fix


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def _finding(tool: str, problem: Problem) -> LintFinding:
    rule, level, message, fix = problem
    return LintFinding(tool=tool, rule=rule, level=level, message=message, fix=fix)
