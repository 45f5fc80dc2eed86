"""A run that begins in the middle of another has what that one had there, and asks for itself."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.settings import load
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.engine import Engine, engine, trail
from tests.support.runs import asked, decide, failure
from tests.support.servers.temporal_server import suggesting_after
from tests.workflow.histories.test_continue_as_new import LONG

Handle = Any
ROUNDS = """
orchestration:
  entry_team: draft
  max_recursion_depth: 3
  teams:
    draft:
      tasks: [{name: write, agent_type: generic_single_shot, persona_key: writer}]
      routing: {default: review, context_updates: {round: "{{ run.visit }}"}}
    review:
      tasks:
        - {name: sign, type: approval, prompt: "Well?", deadline: 3d, remember: true}
        - {name: seen, type: set, values: {round: "{{ context.round }}", who: "{{ context.who }}"}}
      routing:
        rules: [{condition: "{{ run.visit < 2 }}", next_team: draft}]
        default: fan
    fan:
      tasks: [{name: ready, type: set, values: {n: 1}}]
      routing: {rules: [{next_team: [left, right]}]}
    left: {tasks: [{name: l, type: set, values: {n: 1}}]}
    right: {tasks: [{name: r, type: fail, message: "{{ context.who }}"}]}
"""


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    """The real server."""
    async with time_skipping_server(load()) as client:
        yield client


@pytest.fixture
async def here(server: Client, tmp_path: Path) -> AsyncGenerator[Engine]:
    answers: list[Json] = [{"task": "write", "answer": "words"}]
    env = WorkflowEnvironment.from_client(server)
    async with engine(env, tmp_path, answers) as made:
        yield made


async def ended(here: Engine) -> Handle:
    """A run that went two rounds, with an approval that answers the second, and failed."""
    handle: Handle = await here.start(ROUNDS, {"who": "ann"})
    await decide(handle, (await asked(handle))["id"])
    assert "the branch 'right' failed" in (await failure(handle)).message
    return handle


async def forked(here: Engine, handle: Handle, **fork: Any) -> Handle:
    return await here.start_raw({"fork": {"run": handle.id, **fork}})


async def test_a_visit_begins_again_with_another_context_and_counts_on(here: Engine) -> None:
    first = await ended(here)
    fork = {"at": "review#2", "updates": {"who": "ben"}, "by": "cleo", "why": "again"}
    handle = await forked(here, first, **fork)
    request = await asked(handle)
    assert request["id"] == "review/sign#2", "what was remembered does not count here"
    status = await handle.query("status")
    assert (status["visits"], status["model_calls"]) == ({"draft": 2, "review": 2}, 2)
    described = await handle.describe()
    assert await described.memo() == {
        "forked_from": f"{first.id} at review#2",
        "forked_run": first.id,
    }
    await decide(handle, request["id"])
    assert (await failure(handle)).message.endswith("Failed: ben")
    reasons = [entry.because for entry in await trail(handle) if entry.kind == "control"]
    assert reasons == [
        f"forked from {first.id} at review#2 by cleo: again",
        "amended who by cleo: again",
    ]
    again = await forked(here, handle, at="draft#1")
    assert (await asked(again))["id"] == "review/sign#1", "before the fork lies the first run"
    nowhere = await failure(await forked(here, again, at="review#9"))
    assert nowhere.message.endswith("it has: draft#1, review#1"), "each reported once"


async def test_fork_starts_before_the_branches_when_several_failed(here: Engine) -> None:
    handle = await forked(here, await ended(here), updates={"who": "dan"})
    assert (await failure(handle)).message.endswith("Failed: dan")
    described = await handle.describe()
    assert str((await described.memo())["forked_from"]).endswith(" at fan#1")


@pytest.mark.parametrize(
    ("fork", "message"),
    [
        (
            {"at": "left#1"},
            "was in a concurrent branch, or in a team as a step; fork at the visit around it: "
            "fan#1",
        ),
        (
            {"at": "review#3"},
            "has no visit 'review#3'; it has: draft#1, draft#2, fan#1, left#1, "
            "review#1, review#2, right#1",
        ),
        ({"at": "fan#1", "updates": {"who.deeper": 1}}, "cannot be set"),
    ],
)
async def test_fork_refuses_a_point_where_a_run_cannot_continue(
    here: Engine, fork: Json, message: str
) -> None:
    cause = await failure(await forked(here, await ended(here), **fork))
    assert cause.type == "RunRefused"
    assert message in cause.message


async def test_nobody_forks_what_is_not_there_or_brings_a_context_of_their_own(
    here: Engine,
) -> None:
    cause = await failure(await here.start_raw({"fork": {"run": "no-such-run", "at": "a#1"}}))
    assert "there is no run 'no-such-run'" in cause.message
    given = {"fork": {"run": "x"}, "context": {"a": 1}}
    assert "change it with `fork.updates`" in (await failure(await here.start_raw(given))).message


async def test_a_run_that_continued_as_new_begins_again_at_a_visit_of_its_first_part(
    tmp_path: Path,
) -> None:
    answers: list[Json] = [{"task": "ask", "answer": "noted"}]
    async with suggesting_after(50) as env, engine(env, tmp_path, answers) as here:
        first: Handle = await here.start(LONG)
        await decide(first, (await asked(first))["id"])
        result = await first.result()
        handle = await forked(here, first, at="count#1")
        await decide(handle, (await asked(handle))["id"], by="ben")
        again = await handle.result()
        assert (again["context"], again["model_calls"]) == (result["context"], 40)
        assert [one["by"] for one in again["decisions"]] == ["ben"]


LABELLED = """
tools:
  look: {skill: Files.list, labels: [untrusted]}
  send: {skill: Files.list, labels: [egress]}
orchestration:
  entry_team: read
  teams:
    read: {tasks: [{name: r, tool: look}], routing: {default: then}}
    then: {tasks: [{name: s, tool: send, on_failure: continue}]}
"""


async def test_a_fork_keeps_what_the_run_had_met(here: Engine) -> None:
    first: Handle = await here.start(LABELLED)
    await decide(first, (await asked(first))["id"], "reject")
    await first.result()
    handle = await forked(here, first, at="then#1")
    request = await asked(handle)
    assert [(one["label"], one["step"]) for one in request["met"]] == [
        ("private", "read/r"),
        ("untrusted", "read/r"),
    ]
    await decide(handle, request["id"], "approve")
    result = await handle.result()
    assert result["end"] == "completed"
