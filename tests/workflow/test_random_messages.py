"""Whatever people and programs say to a run: never a wrong approval, never a stuck run."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowUpdateFailedError
from temporalio.testing import WorkflowEnvironment

from dsl.values import JsonValue
from tests.support.engine import engine
from tests.support.runs import Handle, asked

MESSAGES = 600
"""For each seed; `MESSAGES = 10_000` takes a minute and a half."""
ASKING = """
orchestration:
  entry_team: review
  groups: {leads: [cleo, dan]}
  teams:
    review:
      tasks:
        - name: sign
          type: approval
          prompt: "Ship?"
          show: {pages: 3}
          approvers: [ann, leads]
          quorum: 2
          editable: true
"""
ALLOWED = ("ann", "cleo", "dan")
WEIRD: tuple[JsonValue, ...] = (None, True, 7, "", "approve", [], {}, {"by": "ann"}, {"id": 1},
                                {"id": "review/sign#1", "by": {"a": 1}})  # fmt: skip


def _messages(chance: random.Random) -> Iterator[tuple[str, str, Any]]:
    """Signals and updates, most of them wrong in some way; no two people ever approve the same."""
    for _ in range(MESSAGES):
        payload: Any = {
            "id": chance.choice(("review/sign#1", "review/sign#2", "review/other#1", "", "x" * 99)),
            "by": chance.choice(("ann", "eve", "", "deadline", "unknown", "Ann")),
            "comment": chance.choice(("", "because", "{{ context }}", "\u0000")),
        }  # fmt: skip
        if chance.random() < 0.2:
            payload["digest"] = chance.choice(("0" * 12, "", "abc"))
        if chance.random() < 0.2:
            payload["payload"] = chance.choice(({"pages": "4"}, {}, [], 3, {"pages": 4, "x": 1}))
        if chance.random() < 0.1:
            payload["extra"] = 1
        if chance.random() < 0.1:
            payload = chance.choice(WEIRD)
        how = chance.choice(("approve", "reject_as_a_stranger", "decide", "other"))
        if how == "decide" and isinstance(payload, dict):
            word = chance.choice(("approve", "maybe", None, "APPROVE"))
            payload = {**cast("dict[str, Any]", payload), "decision": word}
        if how == "reject_as_a_stranger":
            stranger = chance.choice(("eve", "mallory", "", "deadline"))
            payload = {"id": "review/sign#1", "by": stranger}
        yield ("update" if how == "decide" else "signal"), _name(how, chance), payload


def _name(how: str, chance: random.Random) -> str:
    match how:
        case "reject_as_a_stranger":
            return "reject"
        case "other":
            return chance.choice(("resume", "unheard_of", "approve"))
        case _:
            return how


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_number_of_wrong_messages_approves_or_hurts_a_run(
    env: WorkflowEnvironment, tmp_path: Path, seed: int
) -> None:
    """Ann alone may approve here, however often: the quorum of two is never reached."""
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(ASKING)
        await asked(handle)
        sent = list(_messages(random.Random(seed)))
        for start in range(0, len(sent), 40):  # some at once, as they come in life
            await asyncio.gather(*(_send(handle, *one) for one in sent[start : start + 40]))
        [waiting] = await handle.query("pending")
        assert waiting["id"] == "review/sign#1"
        assert set(waiting["approved_by"]) <= {"ann"}
        assert waiting["show"] == {"pages": 3}
        given = {"id": "review/sign#1", "decision": "approve"}
        for by in ALLOWED:
            if by not in waiting["approved_by"] and await _open(handle):
                await handle.execute_update("decide", {**given, "by": by})
        result = await handle.result()
        assert result["decisions"][0]["verdict"] == "approved"
        assert set(result["decisions"][0]["by"].split(", ")) <= set(ALLOWED)
        events = {event.event_type for event in (await handle.fetch_history()).events}
        assert EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED not in events
        assert EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT not in events


async def _send(handle: Handle, kind: str, name: str, payload: Any) -> None:
    if kind == "signal":
        await handle.signal(name, payload)
        return
    with suppress(WorkflowUpdateFailedError):  # refused, as most are
        await handle.execute_update(name, payload)


async def _open(handle: Handle) -> bool:
    return bool(await handle.query("pending"))
