"""Of every run, running, ended or only recorded, one can ask why it went where it went."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.evaluate.context import PathChange
from coterie.failures import CommandError
from coterie.inspection.trace import Trace, traced
from coterie.inspection.why_text import json_text, run_text, visits_text
from coterie.replay.rebuilt_run import Rebuilt, rebuilt
from coterie.replay.trace_events import Visit
from coterie.settings import load
from tests.support.engine import Engine, engine, trail
from tests.support.places import HISTORIES
from tests.support.runs import asked, decide, failure

DECIDING = """
orchestration:
  entry_team: draft
  max_total_teams: 6
  teams:
    draft:
      tasks:
        - { name: note, type: set, values: { n: "{{ context.tries }}" } }
        - name: idle
          type: set
          values: { idle: true }
          when: { context_field: tries, operator: greater_than, value: 7 }
        - name: which
          type: branch
          branches:
            - condition: { task: note, output_field: n, operator: equals, value: 5 }
              steps: [{ name: five, type: set, values: { five: 5 } }]
            - condition: all_success
              steps: [{ name: other, type: set, values: { other: 1 } }]
        - { name: inner, type: team, team: lost, on_failure: continue }
      routing:
        context_updates: { tries: "{{ context.tries + 1 }}" }
        rules:
          - condition:
              and:
                - { task: note, status: success }
                - not: { context_field: tries, operator: less_than, value: 2 }
            next_team: review
            context_updates: { result.text: "{{ tasks.note.data.n }}" }
          - { condition: "{{ routing.reason == 'entry' }}", next_team: draft }
          - { next_team: null }
    lost:
      tasks: [{ name: nothing, type: set, values: {} }]
      routing:
        rules: [{ condition: { context_field: nope, operator: exists }, next_team: draft }]
    review:
      tasks: [{ name: sign_off, type: approval, prompt: Good? }]
      routing:
        rules: [{ condition: all_success, next_team: null }]
        default: draft
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def here(
    env: WorkflowEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Engine]:
    async with engine(env, tmp_path_factory.mktemp("why"), []) as made:
        yield made


async def seen(handle: Any) -> tuple[Trace, dict[str, Visit]]:
    """The run by its history alone."""
    found = await rebuilt(await handle.fetch_history())
    assert isinstance(found, Rebuilt), found
    visits = tuple(found.visits.values())
    return Trace("run", found.trail, visits), {visit.name: visit for visit in visits}


async def test_every_rule_is_reported_with_what_it_found_and_every_change_by_its_path(
    here: Engine,
) -> None:
    handle: Any = await here.start(DECIDING, {"tries": 1})
    await asked(handle)
    trace, visits = await seen(handle)
    first, second = visits["draft#1"], visits["draft#2"]
    assert first.next_team == "draft"
    assert [rule.taken for rule in first.rules or ()] == [False, True, None]
    assert first.changes == (PathChange("tries", "changed", 1, 2),)
    assert second.next_team == "review"
    assert second.changes == (
        PathChange("tries", "changed", 2, 3),
        PathChange("result", "added", after={"text": 2}),
    )
    assert [rule.taken for rule in second.rules or ()] == [True, None, None]
    text = visits_text([first])
    for line in (
        "draft#1 -> draft, because rule 2: routing.reason is \"entry\" (routing.reason == 'entry')",
        "rule 1 -> review: does not hold",
        "no  all of",
        "yes note is success",
        "no  not",
        "yes context.tries is 1 (less_than 2)",
        "yes routing.reason is \"entry\" (routing.reason == 'entry')",
        "rule 3 -> the end: not evaluated",
        "branch 1 -> five: does not hold",
        "no  note.n is 1 (equals 5)",
        "branch 2 -> other: holds",
        "no  context.tries is 1 (greater_than 7)",
        "tries: 1 -> 2",
    ):
        assert line in text, f"{line}\n\n{text}"
    assert visits["review#1"].ended is None
    assert "review#1 continues" in run_text(trace, "run")
    reasons = [entry.because for entry in trace.trail]
    assert reasons == [entry.because for entry in await trail(handle)]


async def test_a_team_that_no_rule_led_out_of_is_reported_although_no_entry_says_so(
    here: Engine,
) -> None:
    handle: Any = await here.start(DECIDING, {"tries": 5})
    await asked(handle)
    _, visits = await seen(handle)
    lost = visits["lost#1"]
    assert (lost.status, lost.next_team) == ("NoRoute", None)
    assert "no route matched" in lost.because
    assert [
        (rule.taken, rule.condition and rule.condition.finding) for rule in lost.rules or ()
    ] == [(False, "context.nope is missing (exists)")]
    assert "no default names a team" in visits_text([lost])


async def test_why_names_changes_and_redirects_by_people(here: Engine) -> None:
    handle: Any = await here.start(DECIDING, {"tries": 5})
    await asked(handle)
    await handle.execute_update("amend", {"updates": {"tries": 50}, "by": "ann", "why": "so"})
    await handle.execute_update("redirect", {"team": "draft", "by": "ann", "why": "again"})
    await decide(handle, "review/sign_off#1")
    await asked(handle)
    _, visits = await seen(handle)
    review = visits["review#1"]
    assert review.next_team == "draft"
    assert review.rules is None
    assert "redirected to draft by ann: again" in review.because
    changes = [one.changes for visit in visits.values() for one in visit.happened if one.changes]
    assert changes == [(PathChange("tries", "changed", 6, 50),)]
    assert "tries: 6 -> 50" in visits_text(visits.values())
    await handle.terminate()


async def test_the_end_of_a_failed_run_is_reported_with_its_rules(here: Engine) -> None:
    handle: Any = await here.start(DECIDING, {"tries": 5})
    for request in ("review/sign_off#1", "review/sign_off#2"):
        await asked(handle)
        await decide(handle, request, "reject")
    error = await failure(handle)
    trace, visits = await seen(handle)
    assert error.type == "LimitExceeded"
    text = run_text(trace, "run")
    assert "the run ends before" in text
    review = visits["review#1"]
    assert review.next_team == "draft"
    assert "default -> draft" in visits_text([review])
    assert "review#1 (failed) -> draft, because default: task 'sign_off'" in visits_text([review])


LEFT = """
orchestration:
  entry_team: begin
  budgets: {model_calls: {limit: 1, on_exceeded: route, next_team: end}}
  teams:
    begin:
      tasks: [{name: ready, type: set, values: {x: 1}}]
      routing: {rules: [{next_team: [left, right]}]}
    left:
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
        - {name: more, agent_type: generic_single_shot, persona_key: writer}
    right: {tasks: [{name: inner, type: team, team: rest}]}
    rest: {tasks: [{name: never, type: wait, signal: never}]}
    end: {tasks: [{name: finish, type: set, values: {x: 1}}]}
"""


async def test_why_names_the_budget_that_routed(env: WorkflowEnvironment, tmp_path: Path) -> None:
    async with engine(env, tmp_path, [{"task": "write", "answer": "x"}]) as running:
        handle: Any = await running.start(LEFT)
        await handle.result()
        trace, visits = await seen(handle)
    assert sorted(visits) == ["begin#1", "end#1", "left#1", "rest#1", "right#1"], "and no other"
    spent = "the model call budget of the run is used up, 1 of 1 call"
    for name in ("left#1", "right#1", "rest#1"):
        assert visits_text([visits[name]]).startswith(f"{name} was stopped: {spent}"), name
    assert visits_text([visits["begin#1"]]).startswith("begin#1 -> left, right, because rule 1")
    assert f"begin#1 -> end, because {spent}" in visits_text([visits["end#1"]])
    assert "#0" not in run_text(trace, "run")


CLEANED = """
orchestration:
  entry_team: work
  on_cancel: tidy
  teams:
    work: {tasks: [{name: sign, type: approval, prompt: Go?}]}
    tidy: {tasks: [{name: sweep, type: fail, error: Dust, message: too much}]}
"""


async def test_a_clean_up_that_fails_is_not_reported_as_the_end_of_the_run(here: Engine) -> None:
    handle: Any = await here.start(CLEANED)
    await asked(handle)
    await handle.cancel(reason="by ann")
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    trace, visits = await seen(handle)
    text = run_text(trace, "run")
    assert "tidy#1: TeamFailed: " in text
    assert "the run ends" not in text
    assert visits_text([visits["tidy#1"]]).startswith("tidy#1 was stopped: TeamFailed: ")


LINKED = {file.name.partition(".")[0] for file in HISTORIES.glob("*.link*.json")}
"""Cases whose histories are each one link of a run."""
REFUSED = ("raw_plan.0.1.0.json",)
"""Histories of runs that were refused before their first team."""
WHOLE = sorted(
    file
    for file in HISTORIES.glob("*.json")
    if file.name.partition(".")[0] not in LINKED and file.name not in REFUSED
)
"""The histories of whole runs."""


@pytest.mark.parametrize("file", WHOLE, ids=lambda file: file.stem)
async def test_every_recorded_decision_is_reported_from_the_file_alone(file: Path) -> None:
    trace = await traced(load(environ={}), str(file))
    routes = [entry for entry in trace.trail if entry.kind == "route"]
    assert routes
    for entry in routes:
        visit = next(v for v in trace.visits if (v.team, v.visit) == (entry.team, entry.visit))
        assert visit.because == entry.because
        taken = [rule for rule in visit.rules or () if rule.taken]
        if entry.because.startswith("rule "):
            assert [f"rule {rule.number}" for rule in taken] == [entry.because.split(":")[0]]
        else:
            assert not taken
        assert {change.path.split(".")[0] for change in visit.changes} <= {
            path.split(".")[0] for path in entry.updated
        }
    report = json.loads(json_text(trace, trace.visits))
    assert [visit["because"] for visit in report["visits"] if visit["ended"]]


async def test_a_visit_that_is_none_is_reported_with_those_that_there_are() -> None:
    trace = await traced(load(environ={}), str(HISTORIES / "limit.0.1.0.json"))
    with pytest.raises(CommandError, match="has no visit 'agian'; it has: again#0, again#1"):
        trace.of("agian")
    with pytest.raises(CommandError, match="has no visit 'again#9'"):
        trace.of("again#9")
    assert [visit.visit for visit in trace.of("again")] == [1, 2, 3, 4, 0]
