"""`SemanticIterator.initialize`: read a model's answer as a list of changes, all or none.

Parsing is deterministic and calls no model: it either understands every change of the answer, or
fails with a list of all problems.
"""

import json
import re
from typing import Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
)

from coterie.activities.changes.change import Change, repeated
from coterie.activities.changes.change_blocks import BEGIN, ParsedBlocks, has_blocks, parse_blocks
from coterie.activities.changes.diff import parse_diff, parse_new_file
from coterie.activities.changes.diff_header import DiffProblem
from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import (
    FunctionFailure,
    FunctionRefusal,
    validation_problems,
)

Format = Literal["auto", "change_blocks", "json"]

_LINE_BEGINS_JSON = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_JSON = re.compile(r"[{\[]")
_FENCED = re.compile(r"^```(?:json)?[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


class ModelOutput(BaseModel):
    """A model's answer, or the data of an agent that contains one. Other keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)

    content: JsonValue = Field(validation_alias=AliasChoices("content", "changes", "text"))
    """Text in one of the formats, or changes as JSON."""
    format: Format = "auto"
    """How to read a text. `auto`: change blocks if it has any, else JSON."""


IteratorInput = str | list[JsonValue] | Change | ModelOutput


async def initialize(value: IteratorInput, context: FunctionContext) -> list[Change]:
    """Read the changes.

    Raises:
        FunctionRefusal: A change names a file that tool functions may not touch.
        FunctionFailure: The answer has problems; the message lists each by block or change.
    """
    blocks = _parse_blocks(value)
    changes = [change for _, change in blocks.changes]
    problems = [
        *blocks.problems,
        *_unusable(blocks.changes),
        *(
            f"{path} has more than one change; give one with all its hunks"
            for path in repeated(changes)
        ),
    ]
    if problems:
        raise FunctionFailure(f"the answer is unusable: {'; '.join(problems)}")
    _refuse_outside(blocks.changes, context)
    return changes


def _parse_blocks(value: IteratorInput) -> ParsedBlocks:
    match value:
        case Change():
            return ParsedBlocks(changes=[(f"the change ({value.file_path})", value)])
        case ModelOutput():
            return _read(value.content, value.format)
        case str() | list():
            return _read(value, "auto")


def _read(content: JsonValue, format: Format) -> ParsedBlocks:
    match content:
        case str() if format != "json" and has_blocks(content):
            return parse_blocks(content)
        case str() if format == "change_blocks":
            raise FunctionFailure(
                f"the answer has no change block (a line {BEGIN}); it starts with {content[:80]!r}"
            )
        case str():
            return _read_list(_json_in(content))
        case list():
            return _read_list(content)
        case {"changes": list() as changes}:
            return _read_list(changes)
        case dict():
            return _read_list([content])
        case _:
            raise FunctionFailure(
                "the answer contains no changes: expected text with change blocks, or JSON "
                f'{{"changes": [...]}}, but got {json.dumps(content)[:80]}'
            )


def _json_in(text: str) -> list[JsonValue]:
    """Parse the changes in a JSON text, possibly in a fence or within prose."""
    text = text.replace("\r\n", "\n")
    fenced = [part for part in _FENCED.findall(text) if part.lstrip().startswith(("{", "["))]
    candidate: str = fenced[0] if fenced else text
    begin = _LINE_BEGINS_JSON.search(candidate) or _JSON.search(candidate)
    if begin is None:
        raise FunctionFailure(
            f"the answer contains neither a change block (a line {BEGIN}) nor JSON; "
            f"it starts with {text[:80]!r}"
        )
    try:
        value: JsonValue = json.JSONDecoder().raw_decode(candidate, begin.end() - 1)[0]
    except json.JSONDecodeError as error:
        raise FunctionFailure(
            f"the answer's JSON is broken or cut off at its line {error.lineno}, "
            f"column {error.colno}: {error.msg}"
        ) from None
    match value:
        case {"changes": list() as changes}:
            return changes
        case list():
            return value
        case _:
            return [value]


def _read_list(items: list[JsonValue]) -> ParsedBlocks:
    blocks = ParsedBlocks()
    for number, item in enumerate(items, start=1):
        try:
            change = Change.model_validate(item)
        except ValidationError as error:
            blocks.problems.append(f"change {number}: {validation_problems(error)}")
        else:
            blocks.changes.append((f"change {number} ({change.file_path})", change))
    return blocks


def _unusable(changes: list[tuple[str, Change]]) -> list[str]:
    """Report diffs that could never apply, whatever the files contain."""
    problems: list[str] = []
    for name, change in changes:
        if change.diff is None:
            continue
        try:
            if change.type == "create":
                parse_new_file(change.diff, change.file_path)
            else:
                parse_diff(change.diff, change.file_path)
        except DiffProblem as problem:
            problems.append(f"{name}: {problem}")
    return problems


def _refuse_outside(changes: list[tuple[str, Change]], context: FunctionContext) -> None:
    refusals: list[str] = []
    for name, change in changes:
        try:
            context.workspace.changeable(change.file_path)
        except FunctionRefusal as refusal:
            refusals.append(f"{name}: {refusal}")
    if refusals:
        raise FunctionRefusal("; ".join(refusals))


INITIALIZE = ToolFunction[IteratorInput, list[Change]](
    name="SemanticIterator.initialize",
    description="Reads a model's answer as a list of changes to files.",
    effect="read",
    input=TypeAdapter(IteratorInput),
    output=TypeAdapter(list[Change]),
    run=initialize,
    errors={
        FailureType.FUNCTION_REFUSED: "a change names a file outside the workspace, or a protected "
        "file",
        FailureType.FUNCTION_FAILED: "the answer is not a list of changes; the message lists every "
        "problem",
    },
)
