"""What people say between two teams, or in a fan-out, counts from there on or is refused."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.model.price import Price
from coterie.dsl.values import Json
from coterie.inspection.trace import traced
from coterie.inspection.why_text import run_text, visits_text
from coterie.rendering.run_text import end_text
from coterie.runs.run_client import Run
from coterie.settings import load
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.engine import Engine, engine, path_of, trail
from tests.support.runs import decide, refused, sent

Handle = Any
LAST = """
orchestration:
  entry_team: one
  teams:
    one:
      tasks: [{name: ok, type: approval, prompt: "Well?", deadline: 30d}]
      routing:
        rules:
          - {condition: {context_field: go, operator: equals, value: two}, next_team: two}
        default: three
    two:
      tasks: [{name: last, type: approval, prompt: "Well?", deadline: 30d}]
      routing: {default: null, context_updates: {told: "{{ context.word }}"}}
    three:
      tasks: [{name: other, type: set, values: {x: 1}}]
"""
FAN_OUT = """
orchestration:
  entry_team: begin
  teams:
    begin:
      tasks: [{name: s, type: set, values: {x: 1}}]
      routing: {rules: [{next_team: [left, right], concentrator: meet}]}
    left:
      tasks:
        - {name: ok, type: approval, prompt: "Well?", deadline: 30d}
        - {name: see, type: set, values: {word: "{{ context.word }}"}}
      routing: {default: after, context_updates: {of.left: "{{ tasks.see.data.word }}"}}
    after:
      tasks: [{name: again, type: approval, prompt: "Well?", deadline: 30d}]
      routing: {default: meet}
    right:
      tasks:
        - {name: yes, type: approval, prompt: "Well?", deadline: 30d}
        - {name: see, type: set, values: {word: "{{ context.word }}"}}
      routing: {default: meet, context_updates: {of.right: "{{ tasks.see.data.word }}"}}
    meet:
      type: concentrator
      tasks: [{name: m, type: set, values: {word: "{{ context.word }}"}}]
      routing: {default: null, context_updates: {met: "{{ tasks.m.data.word }}"}}
"""
BETWEEN = """
orchestration:
  entry_team: a
  teams:
    a:
      tasks: [{name: ok, type: approval, prompt: "Well?", deadline: 30d}]
      routing: {default: b}
    b:
      tasks: [{name: paid, agent_type: generic_single_shot, persona_key: writer}]
      routing: {default: null}
    c:
      tasks:
        - name: why
          type: set
          values: {reason: "{{ routing.reason }}", after: "{{ routing.from }}"}
      routing: {default: null, context_updates: {why: "{{ tasks.why.data }}"}}
"""


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    """The real server."""
    async with time_skipping_server(load()) as client:
        yield client


@pytest.fixture
async def here(server: Client, tmp_path: Path) -> AsyncGenerator[Engine]:
    async with engine(WorkflowEnvironment.from_client(server), tmp_path, []) as made:
        yield made


async def waiting(handle: Handle, *requests: str) -> None:
    """Wait until just these requests are open."""
    for _ in range(4000):
        if [one["id"] for one in await handle.query("pending")] == list(requests):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError(f"{requests} never were what waits")


async def paused_before(handle: Handle, team: str) -> None:
    """Wait until the run stands still before it begins a team."""
    for _ in range(4000):
        status = await handle.query("status")
        if status["team"] == team:
            assert (status["state"], status.get("visit")) == ("paused", None)
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError(f"the run never came to {team}")


async def amended(handle: Handle, **updates: Any) -> None:
    await sent(handle, "amend", {"updates": updates, "by": "ann", "why": "so"})


async def reasons(handle: Handle, kind: str) -> list[str]:
    return [entry.because for entry in await trail(handle) if entry.kind == kind]


async def test_the_rules_and_the_end_of_a_run_know_what_was_amended_in_the_last_step(
    here: Engine,
) -> None:
    handle: Handle = await here.start(LAST)
    await waiting(handle, "one/ok#1")
    await amended(handle, go="two")
    await decide(handle, "one/ok#1")
    await waiting(handle, "two/last#1")
    await amended(handle, word="late")
    await decide(handle, "two/last#1")
    result: Json = await handle.result()
    assert result["context"] == {"go": "two", "word": "late", "told": "late"}
    assert await reasons(handle, "control") == ["amended go by ann: so", "amended word by ann: so"]


async def test_every_branch_of_a_fan_out_knows_what_was_amended_and_so_does_what_follows(
    here: Engine,
) -> None:
    handle: Handle = await here.start(FAN_OUT, {"word": "old"})
    await waiting(handle, "left/ok#1", "right/yes#1")
    refusal = await refused(handle, {"team": "after", "by": "ann"}, "redirect")
    assert "branches of a fan-out are running; send it again after they join" in refusal
    await amended(handle, word="new")
    await decide(handle, "left/ok#1")
    await waiting(handle, "right/yes#1", "after/again#1")
    conflict = {"updates": {"of": {"left": "mine"}}, "by": "ann"}
    assert "the branch 'left' has set the context's 'of.left'" in await refused(
        handle, conflict, "amend"
    )
    await decide(handle, "right/yes#1")
    await decide(handle, "after/again#1")
    context = (await handle.result())["context"]
    assert context == {"word": "new", "of": {"left": "new", "right": "new"}, "met": "new"}
    assert await reasons(handle, "control") == ["amended word by ann: so"]


async def test_a_branch_that_sets_later_what_was_amended_has_the_last_word(here: Engine) -> None:
    handle: Handle = await here.start(FAN_OUT, {"word": "old"})
    await waiting(handle, "left/ok#1", "right/yes#1")
    await amended(handle, **{"of.right": "mine", "of.third": "mine"})
    await decide(handle, "left/ok#1")
    await waiting(handle, "right/yes#1", "after/again#1")
    await decide(handle, "right/yes#1")
    await decide(handle, "after/again#1")
    context = (await handle.result())["context"]
    assert context["of"] == {"left": "old", "right": "old", "third": "mine"}


async def test_a_run_that_is_sent_elsewhere_between_two_teams_begins_no_other_first(
    here: Engine,
) -> None:
    handle: Handle = await here.start(BETWEEN)
    await waiting(handle, "a/ok#1")
    await handle.signal("pause", {"by": "ann"})
    await decide(handle, "a/ok#1")
    await paused_before(handle, "b")
    await sent(handle, "redirect", {"team": "c", "by": "ann", "why": "too dear"})
    await handle.signal("resume", {"by": "ann"})
    result = await handle.result()
    assert (result["visits"], result["model_calls"]) == ({"a": 1, "c": 1}, 0)
    assert result["context"]["why"] == {"reason": "redirected", "after": "a"}
    assert path_of(await trail(handle)) == ["a", "c"]
    assert "b does not start: redirected to c by ann: too dear" in await reasons(handle, "control")


CLEANING = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: Write.}}
orchestration:
  entry_team: a
  on_cancel: clean
  cancel_timeout: 60s
  teams:
    a:
      tasks: [{name: ok, type: approval, prompt: "Well?", deadline: 30d}]
      routing: {default: b}
    b: {tasks: [{name: s, type: set, values: {x: 1}}]}
    clean:
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
        - {name: sign, type: approval, prompt: "Well?", deadline: 30s}
"""


async def test_a_cancelled_run_tells_what_cleaning_up_took_and_takes_no_late_word(
    server: Client, tmp_path: Path
) -> None:
    env = WorkflowEnvironment.from_client(server)
    answers: list[Json] = [{"task": "write", "answer": "done"}]
    prices = {"demo": Price(input=10, output=100)}
    async with engine(env, tmp_path, answers, prices=prices) as here:
        handle: Handle = await here.start(CLEANING)
        await waiting(handle, "a/ok#1")
        await amended(handle, word="lost")
        await sent(handle, "redirect", {"team": "b", "by": "ann"})
        await handle.cancel(reason="by ann: enough")
        await waiting(handle, "clean/sign#1")
        for update, word in (("amend", {"updates": {"x": 1}}), ("redirect", {"team": "b"})):
            assert "the run is cancelled, and only cleans up" in await refused(handle, word, update)
        await decide(handle, "clean/sign#1")
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        result = await handle.query("result")
        assert [one["id"] for one in result["decisions"]] == ["clean/sign#1"]
        assert result["model_calls"] == 1
        assert result["cost"] == (await handle.query("cost"))["total"]["cost"] > 0
        assert result["context"] == {}
        assert "output" not in result
        assert await reasons(handle, "refused") == [
            "the run ended before it was amended word by ann: so",
            "the run ended before it was redirected to b by ann",
        ]
        file = tmp_path / "history.json"
        file.write_text((await handle.fetch_history()).to_json())
        trace = await traced(load(environ={}), str(file))
        assert "a#1 was left when the run was cancelled" in run_text(trace, "run")
        assert "goes on" not in run_text(trace, "run")
        assert visits_text(trace.of("a")).startswith("a#1 was left when the run was cancelled")
        text = end_text(handle.id, await Run(server, handle.id).end())
        assert "clean/sign#1 approved by ann" in text
