"""An audit export that anybody has changed does not pass, and the line is named."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from coterie.audit.audit_chain import START, ChainProblem, checked_export, entry_text
from coterie.audit.audit_entries import AuditEntry, ExportOpened, Noted
from coterie.audit.audit_exports import sealed
from coterie.failures import CommandError
from coterie.signing.key_files import KeyFile, generate
from coterie.signing.signers import issue
from coterie.workflows.core.senders import Sender

NOW = datetime(2026, 11, 29, 6, tzinfo=UTC)
ROOT, STRANGER = generate("root"), generate("root")
DAY = timedelta(hours=24)
GATEWAY = issue(ROOT, "gateway", "desk", life=DAY, now=NOW)
FORGED = issue(STRANGER, "gateway", "desk", life=DAY, now=NOW)


def entries(count: int) -> list[AuditEntry]:
    by = Sender(subject="ann", method="login", door="host")
    opened = ExportOpened(
        kind="export", of="run", id="pay", parts=(), at=NOW.isoformat(), by=by, version="1"
    )
    noted = [
        Noted(
            kind="noted",
            at=NOW.isoformat(),
            number=number,
            entry="approval",
            team="pay",
            visit=1,
            because=f"decided {number}\u2028",
        )
        for number in range(2, count + 1)
    ]
    return [opened, *noted]


LINES = 7
WHOLE = sealed(entries(LINES), GATEWAY, NOW)


def problems(content: bytes) -> tuple[ChainProblem, ...]:
    return checked_export(content, [ROOT.public]).problems


def rewritten(lines: list[bytes]) -> list[bytes]:
    """The lines of an attacker who computes every hash anew, numbers included."""
    made: list[bytes] = []
    before = START
    for number, line in enumerate(lines, 1):
        entry = _plain(json.loads(line)["entry"])
        text = f'{{"line":{number},"prev":"{before}","entry":{entry}'.encode()
        before = sha256(text).hexdigest()
        made.append(text + f',"hash":"{before}"}}'.encode())
    return made


def _plain(entry: object) -> str:
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False)


def test_a_whole_export_is_proved_and_names_its_signer() -> None:
    checked = checked_export(WHOLE, [STRANGER.public, ROOT.public])
    assert checked.problems == ()
    assert checked.signer == "gateway 'desk'"
    assert checked.sealed is not None
    assert (checked.sealed.lines, len(checked.lines)) == (LINES, LINES)


def changed(line: bytes) -> bytes:
    return line.replace(b"decided", b"refused").replace(b'"id":"pay"', b'"id":"pai"')


def attacked() -> Iterator[tuple[str, list[bytes], int | None]]:
    """Every line deleted, changed, repeated, swapped and cut: `(attack, lines, line named)`."""
    *lines, seal = WHOLE.rstrip(b"\n").split(b"\n")
    for at in range(LINES):
        before, line, after = lines[:at], lines[at], lines[at + 1 :]
        last = at == LINES - 1
        # a deleted line is missed at the next one, or before the seal
        yield f"delete {at + 1}", [*before, *after, seal], None if last else at + 1
        yield f"change {at + 1}", [*before, changed(line), *after, seal], at + 1
        yield f"repeat {at + 1}", [*before, line, line, *after, seal], at + 2
        yield f"blank {at + 1}", [*before, b"", line, *after, seal], at + 1
        yield f"cut before {at + 1}", [*before, seal], None
        yield f"cut the seal and from {at + 1}", before, at or None
        if not last:
            swapped = [*before, lines[at + 1], line, *lines[at + 2 :], seal]
            yield f"swap {at + 1}", swapped, at + 1
        renewed = rewritten([*before, changed(line), *after])
        yield f"change {at + 1} and recompute", [*renewed, seal], at + 1
        if not last:
            yield f"delete {at + 1} and recompute", [*rewritten([*before, *after]), seal], at + 1


ATTACKS = list(attacked())


@pytest.mark.parametrize(
    ("lines", "named"), [one[1:] for one in ATTACKS], ids=[one[0] for one in ATTACKS]
)
def test_each_attack_on_each_line_is_found_and_located(
    lines: list[bytes], named: int | None
) -> None:
    found = problems(b"".join(line + b"\n" for line in lines))
    assert found, "nothing was noticed"
    assert named in [problem.line for problem in found], found


def test_a_single_byte_cannot_change() -> None:
    for position in range(0, len(WHOLE) - 1, 7):
        flipped = bytearray(WHOLE)
        flipped[position] ^= 1
        assert problems(bytes(flipped)), f"byte {position}"


@pytest.mark.parametrize(
    ("seal", "says"),
    [
        (lambda: sealed(entries(3), FORGED, NOW), "no root key that you trust"),
        (lambda: sealed(entries(3), None, NOW), "never signed"),
        (lambda: _with_seal_of(entries(3), entries(4)), "missing before the seal"),
        (lambda: _with_seal_of(entries(4), entries(3)), "was added"),
    ],
    ids=["a stranger's root", "no seal", "the seal of a longer one", "the seal of a shorter one"],
)
def test_only_the_seal_of_a_trusted_root_over_these_lines_counts(
    seal: Callable[[], bytes], says: str
) -> None:
    assert any(says in problem.text for problem in problems(seal()))


def _with_seal_of(own: list[AuditEntry], others: list[AuditEntry]) -> bytes:
    lines = sealed(own, GATEWAY, NOW).splitlines(keepends=True)[:-1]
    return b"".join([*lines, sealed(others, GATEWAY, NOW).splitlines(keepends=True)[-1]])


def test_marks_locate_a_recomputed_chain_also_in_a_long_export() -> None:
    own = entries(1_001)
    lines = sealed(own, GATEWAY, NOW).rstrip(b"\n").split(b"\n")
    renewed = rewritten([*lines[:499], changed(lines[499]), *lines[500:-1]])
    (problem,) = problems(b"\n".join([*renewed, lines[-1]]))
    assert problem.text == "is not what was signed: a line from 496 to 506 was changed or moved"


def test_a_seal_needs_a_certificate_that_has_not_ended() -> None:
    with pytest.raises(CommandError, match="ended at"):
        sealed(entries(3), GATEWAY, NOW + timedelta(days=2))
    late = _with_time(GATEWAY, NOW + timedelta(days=2))
    assert any("was not valid" in problem.text for problem in problems(late))


def _with_time(key: KeyFile, at: datetime) -> bytes:
    """An export by a thief who sets the clock of a signer whose certificate has ended."""
    assert key.certificate is not None
    later = issue(ROOT, "gateway", "desk", life=DAY, now=at, key=key)
    content = sealed(entries(3), later, at)
    lines = content.splitlines(keepends=True)
    assert later.certificate is not None
    old, new = later.certificate.model_dump_json(), key.certificate.model_dump_json()
    return b"".join([*lines[:-1], lines[-1].replace(old.encode(), new.encode())])


def test_a_line_holds_its_entry_without_defaults() -> None:
    assert json.loads(entry_text(entries(2)[1])) == {
        "kind": "noted",
        "at": NOW.isoformat(),
        "number": 2,
        "entry": "approval",
        "team": "pay",
        "visit": 1,
        "because": "decided 2\u2028",
    }
