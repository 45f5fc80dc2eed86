"""Whatever people and programs say to a run: never a wrong approval, never a stuck run.

`MESSAGES=10000 pytest tests/workflow/messages/test_random_messages.py` sends that many per seed.
"""

import asyncio
import os
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json, JsonValue
from tests.support.engine import engine
from tests.support.runs import Handle, asked, refusal

MESSAGES = int(os.environ.get("MESSAGES", "600"))
"""For each seed."""
MOST_IN_FLIGHT = 40
MOST_UPDATES = 1900
"""A run takes two thousand that reach its history; refused ones do not."""

ASKING = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {writer: {prompts: {user: "Write {{ input.what }}."}}}
orchestration:
  entry_team: before
  groups: {leads: [cleo, dan]}
  teams:
    before:
      tasks: [{name: sign, type: approval, prompt: "First?", approvers: [ann]}]
      routing: {default: again}
    again:
      tasks: [{name: say, type: set, values: {a: 1}}]
      routing: {default: review}
    review:
      tasks:
        - name: sign
          type: approval
          prompt: "Ship?"
          show: {pages: 3, kind: draft}
          approvers: [ann, leads]
          quorum: 2
          editable: true
          schema:
            type: object
            properties: {pages: {type: integer, maximum: 9}, kind: {enum: [draft, final]}}
            required: [pages, kind]
            additionalProperties: false
        - name: write
          agent_type: generic_single_shot
          persona_key: writer
          input: {what: it}
          requires_approval: {approvers: [ann], editable: true}
"""
ALLOWED = ("ann", "cleo", "dan")
WEIRD: tuple[JsonValue, ...] = (
    None,
    True,
    7,
    "",
    "approve",
    [],
    {},
    {"by": "ann"},
    {"id": 1},
    {"id": "review/sign#1", "by": {"a": 1}},
    "\ud7ff" * 10,
    {"id": "x" * 5000, "by": "ann"},
)
WRONG_EDITS: tuple[JsonValue, ...] = (
    {"pages": "4", "kind": "draft"},
    {},
    [],
    3,
    {"pages": 4},
    {"pages": 10, "kind": "draft"},
    {"pages": 4, "kind": "other"},
    {"pages": 4, "kind": "draft", "x": 1},
    {"pages": {"pages": 4}, "kind": "draft"},
    {"pages": True, "kind": "draft"},
)
Message = tuple[str, str, list[Any]]


def _raw(data: bytes, encoding: str) -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding.encode()}, data=data))


ODD: tuple[list[Any], ...] = (
    [],
    [{}, {}],
    [{"id": "review/sign#1", "by": "dan"}, {"id": "review/sign#1", "by": "cleo"}],
    [_raw(b"abc", "binary/plain")],
    [_raw(b"", "binary/null")],
    [_raw(b"{}", "what/ever")],
    [_raw(b"{}", "json/protobuf")],
    [_raw(b"{no", "json/plain")],
    [_raw(b"", "")],
    [_raw(b'{"id": "review/sign#1", "by": "ann", "payload": NaN}', "json/plain")],
    [
        _raw(
            b'{"id": "review/sign#1", "by": "ann", "payload": %s}' % (b"[" * 150 + b"]" * 150),
            "json/plain",
        )
    ],
    [_raw(b"abc", "binary/plain"), {}],
    [_raw(b"{no", "json/plain"), {}],
)
"""None and several arguments, and what is no JSON."""


def _messages(chance: random.Random, others: list[str], earlier: Json) -> Iterator[Message]:
    """Signals and updates, most of them wrong in some way; no two people ever approve the same.

    Args:
        chance: the dice.
        others: requests of other runs, visits and teams.
        earlier: a decision that was taken before: it is sent again and again, word for word.
    """
    for _ in range(MESSAGES):
        payload: Any = {
            "id": chance.choice(("review/sign#1", "review/sign#1", *others)),
            "by": chance.choice(("ann", "eve", "", "deadline", "unknown", "Ann")),
            "comment": chance.choice(("", "because", "{{ context }}", "\u0000")),
        }
        if chance.random() < 0.2:
            payload["digest"] = chance.choice(("0" * 12, "", "abc"))
        if chance.random() < 0.2:
            payload["payload"] = chance.choice(WRONG_EDITS)
        if chance.random() < 0.1:
            payload["extra"] = 1
        if chance.random() < 0.1:
            payload = chance.choice(WEIRD)
        if chance.random() < 0.1:
            payload = dict(earlier)
        how = chance.choice(("approve", "reject_as_a_stranger", "decide", "other"))
        if how == "decide" and isinstance(payload, dict) and "decision" not in payload:
            word = chance.choice(("approve", "maybe", None, "APPROVE"))
            payload = {**cast("dict[str, Any]", payload), "decision": word}
        if how == "reject_as_a_stranger":
            stranger = chance.choice(("eve", "mallory", "", "deadline"))
            payload = {"id": "review/sign#1", "by": stranger}
        given: list[Any] = chance.choice(ODD) if chance.random() < 0.2 else [payload]
        yield ("update" if how == "decide" else "signal"), _name(how, chance), given


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
    async with engine(env, tmp_path, [{"task": "write", "answer": "It."}]) as running:
        other: Handle = await running.start(ASKING)  # a run like this one, with its own requests
        handle: Handle = await running.start(ASKING)
        earlier: Json = {"id": "before/sign#1", "by": "ann", "decision": "approve"}
        await asked(handle)
        taken = await handle.execute_update("decide", earlier)
        while (request := await asked(handle))["id"] != "review/sign#1":
            pass
        foreign = (await asked(other))["id"]
        ids = [
            foreign,
            "review/sign#2",
            "review/sign#0",
            "review/sign",
            "again/sign#1",
            "review/write#1",
            "review/sign#1 ",
            "REVIEW/SIGN#1",
            "",
            "x" * 99,
        ]
        sent = list(_messages(random.Random(seed), ids, earlier))
        for start in range(0, len(sent), MOST_IN_FLIGHT):  # some at once, as they come in life
            several = sent[start : start + MOST_IN_FLIGHT]
            await asyncio.gather(*(_send(handle, *one) for one in several))
        [waiting] = await handle.query("pending")
        assert waiting["id"] == "review/sign#1"
        assert set(waiting.get("approved_by", ())) <= {"ann"}
        assert (waiting["show"], waiting["digest"]) == (request["show"], request["digest"])
        await _through(handle, waiting)
        result = await handle.result()
        assert result["decisions"][0] == taken, "what is decided stays as it was decided"
        signed = result["decisions"][1]
        assert signed["verdict"] == "approved"
        assert set(signed["by"].split(", ")) <= set(ALLOWED)
        assert signed["payload"] == {"pages": 4, "kind": "final"}
        assert result["output"]["write"] == {"text": "It."}
        assert (await asked(other))["id"] == foreign, "nothing reached the other run"
        await _unhurt(handle)


async def _through(handle: Handle, waiting: Any) -> None:
    """The right people decide, with all the mistakes that there are around them."""
    given: Json = {"id": "review/sign#1", "decision": "approve"}
    change: Json = {"pages": 4, "kind": "final"}
    await handle.execute_update("decide", {**given, "by": "cleo", "payload": change})
    stale = {**given, "by": "dan", "digest": waiting["digest"]}
    assert (await refusal(handle, stale)).type == "RequestChanged"
    again = {**given, "by": "cleo"}
    assert (await refusal(handle, again)).type == "AlreadyApproved"
    assert (await refusal(handle, {**given, "by": "dan"})).type == "DigestRequired"
    [changed] = await handle.query("pending")
    await handle.execute_update("decide", {**given, "by": "dan", "digest": changed["digest"]})
    assert (await refusal(handle, {**given, "by": "ann"})).type == "RequestClosed"
    while (request := await asked(handle))["id"] != "review/write#1":
        pass
    late = {"id": "review/write#1", "decision": "approve", "by": "dan"}
    assert (await refusal(handle, late)).type == "NotAllowed"
    wrong = {**late, "by": "ann", "payload": {"what": 3}}
    assert (await refusal(handle, wrong)).type == "BadPayload"
    await handle.execute_update(
        "decide", {**late, "by": "ann", "digest": request["digest"], "payload": {"what": "all"}}
    )


async def _unhurt(handle: Handle) -> None:
    events = (await handle.fetch_history()).events
    failed = [
        event.workflow_task_failed_event_attributes
        for event in events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
    ]
    # Its end was turned down since more messages had come in: that is how none is lost.
    harmless = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND
    assert [one for one in failed if one.cause != harmless] == []
    types = [event.event_type for event in events]
    assert EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT not in types
    accepted = types.count(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED)
    assert accepted < MOST_UPDATES


async def _send(handle: Handle, kind: str, name: str, given: list[Any]) -> None:
    if kind == "signal":
        await handle.signal(name, args=given)
        return
    with suppress(WorkflowUpdateFailedError):  # refused, as most are
        await handle.execute_update(name, args=given)


PEOPLE = ("ann", "ben", "cleo", "eve")
VOTING = """
orchestration:
  entry_team: vote
  teams:
    vote:
      tasks:
        - {name: sign, type: approval, prompt: "Ok?", approvers: [ann, ben, cleo], quorum: 2}
"""


@pytest.mark.parametrize("seed", range(6))
async def test_first_decision_counts_and_later_ones_change_nothing(
    env: WorkflowEnvironment, tmp_path: Path, seed: int
) -> None:
    """Right and wrong decisions by update and by signal, all at once, in any order."""
    chance = random.Random(seed)
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(VOTING)
        await asked(handle)
        by_update: list[Any] = []

        async def say() -> None:
            by, word = chance.choice(PEOPLE), chance.choice(("approve", "approve", "reject"))
            answer = {"id": "vote/sign#1", "by": by}
            with suppress(WorkflowUpdateFailedError, RPCError):  # refused, or the run is over
                if chance.random() < 0.5:
                    await handle.signal(word, answer)
                else:
                    shown = await handle.execute_update("decide", {**answer, "decision": word})
                    by_update.append(shown)

        await asyncio.gather(*(say() for _ in range(30)))
        with suppress(WorkflowFailureError):  # rejected
            await asyncio.wait_for(handle.result(), 120)
        view = await handle.query("request", "vote/sign#1")
        decided = view["decision"]
        final = [one for one in by_update if one["verdict"] != "counted"]
        assert len(final) <= 1
        assert all(one == decided for one in final)
        people = decided["by"].split(", ")
        assert "eve" not in people
        if decided["verdict"] == "approved":
            assert len(set(people)) == len(people) == 2
        counted = [one["by"] for one in by_update if one["verdict"] == "counted"]
        assert len(set(counted)) == len(counted)
        await _unhurt(handle)
