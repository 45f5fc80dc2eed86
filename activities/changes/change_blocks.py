"""Read changes from a model's answer in the change-block format.

    ===CHANGE_BEGIN===
    FILE: src/shop/cart.py
    TYPE: modify
    DESCRIPTION: one line
    DIFF:
    (a unified diff)
    ===CHANGE_END===

`CONTENT:` with the whole file may replace `DIFF:`. A marker counts only at the start of a line,
where the lines of a diff have a space, + or -. Prose between blocks is skipped.
"""

import re
from dataclasses import dataclass, field

from pydantic import ValidationError

from coterie.activities.changes.change import Change
from coterie.activities.changes.diff import bare_content
from coterie.activities.changes.diff_header import DiffProblem
from coterie.activities.workspace.function_failures import validation_problems

BEGIN = "===CHANGE_BEGIN==="
END = "===CHANGE_END==="

_FIELD = re.compile(r"^\**(FILE|TYPE|DESCRIPTION|DIFF|CONTENT)\**:\**[ \t]*(.*)$")


@dataclass(frozen=True, slots=True)
class ParsedBlocks:
    """Changes that were read, and problems of the blocks that could not be."""

    changes: list[tuple[str, Change]] = field(default_factory=list[tuple[str, Change]])
    """Each with the name that messages use: `block 2 (src/a.py)`."""
    problems: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Block:
    number: int
    line: int
    lines: list[str] = field(default_factory=list[str])
    closed: bool = False


def has_blocks(text: str) -> bool:
    """Return whether any line starts a change block."""
    return any(line.rstrip() == BEGIN for line in text.split("\n"))


def parse_blocks(text: str) -> ParsedBlocks:
    """Read every block of an answer; each one yields a change or a problem."""
    blocks, problems = _split(text)
    result = ParsedBlocks(problems=problems)
    for block in blocks:
        values, problems_here = _fields(block)
        name = _name(block, values)
        if not block.closed:
            result.problems.append(
                f"{name} has no {END}: the answer was cut off, or the line is lost"
            )
        elif problems_here:
            result.problems.append(f"{name} {'; '.join(problems_here)}")
        else:
            try:
                result.changes.append((name, _change(values)))
            except ValidationError as error:
                result.problems.append(f"{name}: {validation_problems(error)}")
            except DiffProblem as problem:
                result.problems.append(f"{name}: {problem}")
    return result


def _split(text: str) -> tuple[list[_Block], list[str]]:
    """Split the text into blocks, in order, and report unmatched markers."""
    blocks: list[_Block] = []
    problems: list[str] = []
    current: _Block | None = None
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        line = raw.rstrip()
        if line == BEGIN:
            current = _Block(number=len(blocks) + 1, line=number)
            blocks.append(current)
        elif line == END:
            if current is None:
                problems.append(
                    f"line {number} has an {END} without a {BEGIN}: the block before it may have "
                    "ended too early, at a marker that is part of its text"
                )
            else:
                current.closed = True
            current = None
        elif current is not None:
            current.lines.append(raw)
    return blocks, problems


def _fields(block: _Block) -> tuple[dict[str, str], list[str]]:
    """Split a block into its fields; everything after DIFF or CONTENT is text."""
    values: dict[str, str] = {}
    problems: list[str] = []
    last = ""
    for at, line in enumerate(block.lines):
        match = _FIELD.match(line)
        if match and match[1] in values:
            problems.append(f"has {match[1]} twice")
        elif match:
            last = match[1]
            values[last] = match[2]
            if last in ("DIFF", "CONTENT"):
                values[last] = "\n".join(
                    [*([match[2]] if match[2] else []), *block.lines[at + 1 :]]
                )
                break
        elif last == "DESCRIPTION" and line.strip():
            values[last] = f"{values[last]} {line.strip()}".strip()
        elif line.strip() and not line.startswith("```"):
            problems.append(f"has a line that belongs to no field: {line[:80]!r}")
    problems += _missing(values)
    return values, problems


def _missing(values: dict[str, str]) -> list[str]:
    needed = [name for name in ("FILE", "TYPE") if not values.get(name, "").strip()]
    deletes = values.get("TYPE", "").strip().lower() == "delete"
    if not deletes and not {"DIFF", "CONTENT"} & values.keys():
        needed.append("DIFF")
    return [f"has no {name}" for name in needed]


def _name(block: _Block, values: dict[str, str]) -> str:
    path = values.get("FILE", "").strip()
    return f"block {block.number} ({path or f'line {block.line}'})"


def _change(values: dict[str, str]) -> Change:
    fields: dict[str, str] = {
        "file_path": values["FILE"].strip().strip("`\"'*").strip(),
        "type": values["TYPE"].strip().strip("`\"'*").strip(),
        "description": values.get("DESCRIPTION", "").strip(),
    }
    if "CONTENT" in values:
        fields["content"] = bare_content(values["CONTENT"])
    elif values.get("DIFF", "").strip():
        fields["diff"] = values["DIFF"].strip("\n") + "\n"
    return Change.model_validate(fields)
