"""The hash chain of an export: writes its lines, and names every line that does not fit. Pure.

Each line holds its number, the hash of the line before, an entry, and its own SHA-256 over
everything before that hash. The last line is a seal: a signature over the number of lines, the
first and the last hash, and marks along the way. So a recomputed chain has no valid seal, and the
marks tell where it departs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from coterie.audit.audit_entries import AuditEntry, ExportOpened
from coterie.dsl.values import Frozen
from coterie.workflows.signatures.statements import Certificate, SignedText
from coterie.workflows.signatures.verification import certificate_of, is_signed

START: Final = "0" * 64
"""What the first line names as the hash before it."""
_MAX_MARKS = 100
_MARK = 16
"""Digits of a hash."""
_LINE = re.compile(
    rb'(\{"line":([1-9]\d{0,8}),"prev":"([0-9a-f]{64})","entry":(\{.*\})),"hash":"([0-9a-f]{64})"\}',
    re.ASCII,
)
_ENTRY: TypeAdapter[AuditEntry] = TypeAdapter(AuditEntry)


class SealBody(Frozen):
    """What the signature of an export covers."""

    of: Literal["run", "gateway"]
    id: Annotated[str, Field(max_length=1_000)]
    lines: int
    """Without the seal."""
    first: str
    """Hash of the first line."""
    head: str
    """Hash of the last one."""
    each: int
    """Lines from one mark to the next."""
    marks: tuple[str, ...]
    """The beginnings of the hashes of these lines."""
    begins: str
    """Time of the first event."""
    ends: str
    signer: str
    at: str


class Seal(Frozen):
    """The last line."""

    seal: SignedText
    certificate: SignedText


@dataclass(frozen=True, slots=True)
class ChainProblem:
    """What is wrong with an export."""

    line: int | None
    """In the file; None: the whole file."""
    text: str


@dataclass(frozen=True, slots=True)
class ReadLine:
    """One line of a file."""

    position: int
    """In the file, from 1."""
    number: int
    prev: str
    entry: bytes
    hash: str
    is_whole: bool
    """Whether its hash is that of its text."""


def chain_lines(entries: Sequence[AuditEntry]) -> tuple[list[bytes], list[str]]:
    """Return the lines of a chain, and their hashes."""
    lines: list[bytes] = []
    hashes: list[str] = []
    before = START
    for number, entry in enumerate(entries, 1):
        text = f'{{"line":{number},"prev":"{before}","entry":{entry_text(entry)}'.encode()
        before = sha256(text).hexdigest()
        lines.append(text + f',"hash":"{before}"}}'.encode())
        hashes.append(before)
    return lines, hashes


def entry_text(entry: AuditEntry) -> str:
    """Return an entry as its line holds it."""
    return entry.model_dump_json(exclude_defaults=True)


def marks_of(hashes: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """Return how many lines lie between two marks, and the marks."""
    each = max(1, -(-len(hashes) // _MAX_MARKS))
    return each, tuple(hash[:_MARK] for hash in hashes[each - 1 :: each])


@dataclass(frozen=True, slots=True)
class CheckedExport:
    """What an export is worth."""

    opened: ExportOpened | None
    lines: tuple[ReadLine, ...]
    signer: str
    """`gateway 'desk'`; empty without a valid seal."""
    sealed: SealBody | None
    problems: tuple[ChainProblem, ...]


def checked_export(content: bytes, roots: Sequence[str]) -> CheckedExport:
    """Return what is wrong with an export.

    Args:
        content: Of the file.
        roots: The public root keys that the reader trusts.
    """
    *texts, rest = content.split(b"\n")
    if rest:
        texts.append(rest)
    seal = _seal(texts[-1]) if texts else None
    lines: list[ReadLine] = []
    problems: list[ChainProblem] = []
    for position, text in enumerate(texts[:-1] if seal is not None else texts, 1):
        read = _read(position, text)
        if read is None:
            problems.append(ChainProblem(position, "is not a line of an export: it was changed"))
        else:
            lines.append(read)
    problems += _order_problems(lines)
    opened = _opening_entry(lines)
    if opened is None:
        problems.insert(0, ChainProblem(1, "does not open an export: the first line is missing"))
    if seal is None:
        text = "the file does not end with a seal: lines at its end were cut off, or it was never"
        problems.append(ChainProblem(len(texts) or None, f"{text} signed"))
        return CheckedExport(opened, tuple(lines), "", None, tuple(problems))
    sealed = _seal_content(seal, roots)
    if isinstance(sealed, str):
        problems.append(ChainProblem(len(texts), f"is a seal that does not hold: {sealed}"))
        return CheckedExport(opened, tuple(lines), "", None, tuple(problems))
    signer, body = sealed
    problems += _seal_problems(lines, body, opened)
    return CheckedExport(opened, tuple(lines), signer, body, tuple(problems))


def entry_of(line: ReadLine) -> AuditEntry | None:
    """Return what a line tells; None for what no version of ours writes."""
    try:
        return _ENTRY.validate_json(line.entry, strict=True)
    except ValidationError:
        return None


def _opening_entry(lines: Sequence[ReadLine]) -> ExportOpened | None:
    first = entry_of(lines[0]) if lines and lines[0].number == 1 else None
    return first if isinstance(first, ExportOpened) else None


def _read(position: int, text: bytes) -> ReadLine | None:
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    body, number, prev, entry, hash = match.groups()
    is_whole = sha256(body).hexdigest().encode() == hash
    return ReadLine(position, int(number), prev.decode(), entry, hash.decode(), is_whole)


def _order_problems(lines: Sequence[ReadLine]) -> Iterator[ChainProblem]:
    expected, before = 1, START
    for line in lines:
        if not line.is_whole:
            yield ChainProblem(line.position, "was changed: its hash is not that of its text")
        if line.number > expected:
            gap = _span(expected, line.number - 1)
            yield ChainProblem(line.position, f"does not follow the one before: {gap} missing")
        elif line.number < expected:
            yield ChainProblem(line.position, f"is number {line.number}, out of order or twice")
        elif line.prev != before:
            yield ChainProblem(
                line.position, "does not follow the one before: one of them was changed"
            )
        expected, before = line.number + 1, line.hash


def _span(first: int, last: int) -> str:
    return f"line {first} is" if first == last else f"lines {first} to {last} are"


def _seal(text: bytes) -> Seal | None:
    try:
        seal = Seal.model_validate_json(text, strict=True)
    except ValidationError:
        return None
    return seal if seal.model_dump_json().encode() == text else None


def _seal_content(seal: Seal, roots: Sequence[str]) -> tuple[str, SealBody] | str:
    """Return who signed what, or why the seal does not hold."""
    found = [certificate_of(seal.certificate, root) for root in roots]
    certificate = next((one for one in found if isinstance(one, Certificate)), None)
    if certificate is None:
        return "no root key that you trust has certified its key"
    if not is_signed(seal.seal, "audit", certificate.key):
        return "its signature is not that of its key"
    try:
        body = SealBody.model_validate_json(seal.seal.body, strict=True)
        signed_at = datetime.fromisoformat(body.at)
        begin = datetime.fromisoformat(certificate.not_before)
        is_within = begin <= signed_at <= datetime.fromisoformat(certificate.not_after)
    except (ValidationError, ValueError, TypeError):
        return "what it signs cannot be read"
    if not is_within:
        return "it was signed when its certificate was not valid"
    if body.signer != certificate.subject:
        return "its certificate is for another signer"
    return f"{certificate.kind} {certificate.subject!r}", body


def _seal_problems(
    lines: Sequence[ReadLine], body: SealBody, opened: ExportOpened | None
) -> Iterator[ChainProblem]:
    """Compare the lines with what was signed."""
    by_number = {line.number: line for line in lines}
    last = max(by_number, default=0)
    if last < body.lines:
        gap = _span(last + 1, body.lines)
        yield ChainProblem(None, f"{gap} missing before the seal, which covers {body.lines} lines")
    for line in lines:
        if line.number > body.lines:
            yield ChainProblem(line.position, f"was added: the seal covers {body.lines} lines")
    if opened is not None and (opened.of, opened.id) != (body.of, body.id):
        yield ChainProblem(1, f"names another run than the seal, which is for {body.id!r}")
    wanted = {
        min(number * body.each, body.lines): mark for number, mark in enumerate(body.marks, 1)
    }
    begin = 1
    for number, mark in sorted({**wanted, 1: body.first, body.lines: body.head}.items()):
        line = by_number.get(number)
        if line is not None and not line.hash.startswith(mark):
            where = f"line {number}" if begin == number else f"a line from {begin} to {number}"
            yield ChainProblem(
                line.position, f"is not what was signed: {where} was changed or moved"
            )
            return
        begin = number + 1
