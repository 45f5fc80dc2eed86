"""The audit entries of recorded runs, and their comparison with a server."""

from collections import Counter
from dataclasses import replace
from datetime import datetime

import pytest
from pydantic import JsonValue
from temporalio.client import Client, WorkflowHistory

from coterie.audit.audit_chain import CheckedExport, checked_export
from coterie.audit.audit_entries import (
    AuditEntry,
    EffectMade,
    ExportedPart,
    ExportOpened,
    MessageSent,
    Noted,
    PartEnded,
    PartStarted,
)
from coterie.audit.audit_exports import export_of_run, sealed, server_differences
from coterie.audit.run_audit import MessageAuthority, signer_of
from coterie.failures import CommandError
from coterie.runs.histories.history_events import started
from coterie.runs.histories.recorded_events import SignalReceived
from coterie.runs.histories.recorded_values import RecordedValue
from coterie.signing.key_files import KeyFile
from coterie.signing.signers import Signer
from coterie.storage.histories import read_history
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.signatures.statements import Authority
from tests.replay.record import HISTORIES
from tests.support.servers.recorded_client import Recorded, client_of
from tests.unit.coterie.audit.test_audit_chain import DAY, GATEWAY, NOW, ROOT


def histories_of(name: str) -> list[WorkflowHistory]:
    """The parts of a recorded run, oldest first."""
    first = HISTORIES / f"{name}.0.1.0.json"
    return list(map(read_history, [first, *sorted(HISTORIES.glob(f"{name}.0.1.0.link*.json"))]))


async def server_with(*histories: WorkflowHistory) -> Client:
    """A server that has one run, in parts."""
    *earlier, latest = histories
    ids = [started(history).previous for history in histories[1:]]
    return await client_of(Recorded([latest], dict(zip(ids, earlier, strict=True))))


async def test_each_signed_decision_stands_with_its_person_and_its_outcome() -> None:
    run = histories_of("signed_decisions")
    entries = await export_of_run(await server_with(*run), run[0].workflow_id)
    decided = [entry for entry in entries if isinstance(entry, MessageSent)]
    assert [(one.about, one.decision, one.outcome) for one in decided] == [
        ("pay/first#1", "approve", "taken"),
        ("pay/second#1", "reject", "taken"),
    ]
    assert all(one.signed_by.startswith("ann by coterie test at") for one in decided)
    noted = [entry.because for entry in entries if isinstance(entry, Noted)]
    assert "pay/late#1 approved by deadline: nobody decided in time" in noted


async def test_an_export_covers_every_history_of_a_run_and_each_entry_once() -> None:
    run = histories_of("parked_batches")
    assert len(run) > 2
    entries = await export_of_run(await server_with(*run), run[0].workflow_id)
    opened = entries[0]
    assert isinstance(opened, ExportOpened)
    assert [part.events for part in opened.parts] == [len(part.events) for part in run]
    assert sum(isinstance(entry, PartStarted) for entry in entries) == len(run)
    ends = [entry.state for entry in entries if isinstance(entry, PartEnded)]
    assert ends == ["continued as new"] * (len(run) - 1) + ["completed"]
    numbers = Counter(entry.number for entry in entries if isinstance(entry, Noted))
    assert set(numbers.values()) <= {1}


async def test_effects_stand_with_their_certainty_and_a_digest_of_their_input() -> None:
    run = histories_of("consents")
    entries = await export_of_run(await server_with(*run), run[0].workflow_id)
    effects = [entry for entry in entries if isinstance(entry, EffectMade)]
    assert [(one.skill, one.certainty) for one in effects] == [
        ("AssetManager.process_action", "done")
    ]
    assert len(effects[0].input) == 64


def ids_of(*run: WorkflowHistory) -> list[str]:
    """The run ids of the parts of a run, as the parts themselves tell them."""
    return [*(started(history).previous for history in run[1:]), "newest"]


async def whole_server(*run: WorkflowHistory) -> Client:
    ids = ids_of(*run)
    return await client_of(Recorded([run[-1]], dict(zip(ids, run, strict=True)), latest=ids[-1]))


async def early_export(
    run: list[WorkflowHistory], at: datetime | None = None
) -> tuple[Client, CheckedExport]:
    """An export from before the last part began, and that server; made now, or at another time."""
    ids = ids_of(*run)[:-1]
    known = Recorded([run[-2]], dict(zip(ids, run, strict=False)), latest=ids[-1])
    opened, *others = await export_of_run(await client_of(known), run[0].workflow_id)
    if at is not None:
        opened = opened.model_copy(update={"at": at.isoformat()})
    content = sealed([opened, *others], GATEWAY, NOW)
    return await client_of(known), checked_export(content, [ROOT.public])


async def test_an_export_is_compared_with_the_histories_that_it_covers() -> None:
    """Also after the run has gone on; not if the server has other events, fewer, or none."""
    run = histories_of("parked_batches")
    early, checked = await early_export(run, started(run[-1]).at)
    assert checked.problems == ()
    assert await server_differences(early, checked) == []
    assert await server_differences(await whole_server(*run), checked) == []
    fewer = WorkflowHistory(run[-2].workflow_id, run[-2].events[:-1])
    shorter = await client_of(
        Recorded([fewer], dict(zip(ids_of(*run)[:-2], run, strict=False)), latest=ids_of(*run)[-2])
    )
    (short,) = await server_differences(shorter, checked)
    assert "more events than the server has" in short.text


async def test_an_export_proves_nothing_without_what_the_run_had_done_by_then() -> None:
    run = histories_of("parked_batches")
    _, checked = await early_export(run)
    (left,) = await server_differences(await whole_server(*run), checked)
    assert left.text == "leaves out the history newest"
    fewer = WorkflowHistory(run[-1].workflow_id, run[-1].events[:-3])
    short = await export_of_run(await whole_server(*run[:-1], fewer), run[0].workflow_id)
    checked = checked_export(sealed(short, GATEWAY, NOW), [ROOT.public])
    (cut,) = await server_differences(await whole_server(*run), checked)
    assert cut.text == "leaves out 3 events of newest"


async def test_the_server_tells_which_histories_an_export_must_cover() -> None:
    """Never the file: it may omit one, call it deleted, or cover those of another run."""
    run, other = histories_of("parked_batches"), histories_of("consents")
    ids = ids_of(*run)
    known = Recorded([run[-1], other[-1]], dict(zip(ids, run, strict=True)), latest=ids[-1])
    server = await client_of(known)
    opened, *entries = await export_of_run(server, run[0].workflow_id)
    assert isinstance(opened, ExportOpened)
    second = [n for n, one in enumerate(entries) if isinstance(one, PartStarted)][1]
    foreign, *harmless = await export_of_run(server, other[0].workflow_id)
    assert isinstance(foreign, ExportOpened)

    async def told(
        parts: tuple[ExportedPart, ...], missing: tuple[str, ...], lines: list[AuditEntry]
    ) -> list[str]:
        forged = opened.model_copy(update={"parts": parts, "missing": missing})
        checked = checked_export(sealed([forged, *lines], GATEWAY, NOW), [ROOT.public])
        assert checked.problems == ()
        return [one.text for one in await server_differences(server, checked)]

    own = opened.parts
    assert await told(own, (), entries) == []
    assert await told((), (), []) == ["covers no history, or none of its events, or names no time"]
    assert await told(foreign.parts, (), harmless) == [
        f"covers no history of {run[0].workflow_id!r}"
    ]
    assert await told(own[1:], (), entries[second:]) == [f"leaves out the history {ids[0]}"]
    assert await told(own[1:], (ids[0],), entries[second:]) == [
        f"lists as deleted what the server has: {ids[0]}"
    ]
    added = await told((*foreign.parts, *own), (), [*harmless, *entries])
    assert added[0].startswith("names another run")
    late = (own[0].model_copy(update={"first": 5}), *own[1:])
    (hidden,) = await told(late, (), entries)
    assert hidden.startswith("names another run, beginning or reset")


async def test_the_line_that_differs_from_the_history_is_named() -> None:
    run = histories_of("signed_decisions")
    server = await server_with(*run)
    entries = await export_of_run(server, run[0].workflow_id)
    place = next(number for number, one in enumerate(entries) if isinstance(one, MessageSent))
    forged = [*entries[:place], entries[place].model_copy(update={"by": "ben"})]
    lines = sealed([*forged, *entries[place + 1 :]], GATEWAY, NOW)
    (problem,) = await server_differences(server, checked_export(lines, [ROOT.public]))
    assert problem.line == place + 1
    cut = checked_export(sealed(entries[:-1], GATEWAY, NOW), [ROOT.public])
    assert [one.text for one in await server_differences(server, cut)] == [
        "1 line missing at the end"
    ]


async def test_a_run_that_does_not_exist_has_no_export() -> None:
    with pytest.raises(CommandError):
        await export_of_run(await server_with(*histories_of("consents")), "nothing")


def said(by: KeyFile, run: str, **changed: JsonValue) -> SignalReceived:
    """A signal with the proof of a rejection that ann signed for a run, and what it says."""
    asked = DecideInput(id="pay/ok#1", decision="reject", comment="too much", digest="d")
    signed = Signer(by, subject="ann", method="oidc").sign(
        asked, Authority(root=ROOT.public, run=run, execution="e"), None, now=NOW
    )
    message = signed.model_dump(mode="json", exclude={"decision"}, exclude_unset=True) | changed
    value = RecordedValue(data_converter.payload_converter.to_payloads([message]))
    return SignalReceived(5, NOW, "reject", value, None)


def test_only_a_person_who_signed_this_message_to_this_run_vouches_for_it() -> None:
    demanded = MessageAuthority(
        Authority(root=ROOT.public, run="pay", execution="e"), repeats=False
    )
    assert signer_of(said(GATEWAY, "pay"), demanded).startswith("ann by oidc at")
    assert signer_of(said(GATEWAY, "pay", comment="never said"), demanded) == ""
    assert signer_of(said(GATEWAY, "pay", id="pay/other#1"), demanded) == ""
    assert signer_of(replace(said(GATEWAY, "pay"), name="approve"), demanded) == ""
    assert signer_of(said(GATEWAY, "another"), demanded) == ""
    assert signer_of(replace(said(GATEWAY, "pay"), at=NOW + DAY * 2), demanded) == ""
    reset = Authority(root=ROOT.public, run="pay", execution="after")
    assert signer_of(said(GATEWAY, "pay"), MessageAuthority(reset, repeats=False)) == ""
    assert signer_of(said(GATEWAY, "pay"), MessageAuthority(reset, repeats=True)).startswith(
        "ann by oidc"
    )
