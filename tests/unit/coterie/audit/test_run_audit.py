"""The audit entries of recorded runs, and their comparison with a server."""

from collections import Counter

import pytest
from temporalio.client import Client, WorkflowHistory

from coterie.audit.audit_chain import checked_export
from coterie.audit.audit_entries import (
    EffectMade,
    ExportOpened,
    MessageSent,
    Noted,
    PartEnded,
    PartStarted,
)
from coterie.audit.audit_exports import export_of_run, sealed, server_differences
from coterie.failures import CommandError
from coterie.runs.histories.history_events import started
from coterie.storage.histories import read_history
from tests.replay.record import HISTORIES
from tests.support.servers.recorded_client import Recorded, client_of
from tests.unit.coterie.audit.test_audit_chain import GATEWAY, NOW, ROOT


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


async def test_an_export_is_compared_with_the_histories_that_it_covers() -> None:
    """Also after the run has gone on; not if the server has other events, fewer, or none."""
    run = histories_of("parked_batches")
    early = await server_with(*run[:-1])
    content = sealed(await export_of_run(early, run[0].workflow_id), GATEWAY, NOW)
    checked = checked_export(content, [ROOT.public])
    assert checked.problems == ()
    assert await server_differences(early, checked) == []
    ids = [started(history).previous for history in run[1:]]
    later = await client_of(
        Recorded([run[-1]], {**dict(zip(ids, run, strict=False)), "latest": run[-2]})
    )
    assert await server_differences(later, checked) == []
    fewer = WorkflowHistory(run[-2].workflow_id, run[-2].events[:-1])
    (short,) = await server_differences(await server_with(*run[:-2], fewer), checked)
    assert "more events than the server has" in short.text


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
