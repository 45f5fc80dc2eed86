"""What is written down of branches that were stopped: a visit that had begun, and nothing else."""

from dataclasses import replace

import pytest

from coterie.dsl.evaluate.context import PathChange
from coterie.dsl.model.causes import ExpressionFound, SentOn
from coterie.dsl.model.outcomes import Outcome
from coterie.replay.rebuilt_run import DecisionObserver, ObservedState
from coterie.replay.trace_events import Visit
from coterie.workflows.core.causes.step_causes import WhenAsked
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.state_parts import Frame, Routed, Track
from coterie.workflows.core.views import TrailKind
from tests.support.compiling import plan_of

PLAN = """
orchestration:
  entry_team: start
  teams:
    start:
      tasks: [{name: a, type: set, values: {n: 1}}]
      routing: {rules: [{condition: all_success, next_team: [left, right]}]}
    left:
      tasks: [{name: l, type: set, values: {n: 1}}, {name: m, type: set, values: {n: 1}}]
    right: {tasks: [{name: r, type: set, values: {n: 1}}]}
"""
AT = "1970-01-01T00:00:05.000+00:00"


def witnessed(team: str | None, visit: int, *, frame: bool) -> dict[tuple[str, int], Visit]:
    """What is reported of a branch that was there, and is not at the next entry."""
    state, plan = RunState(), plan_of(PLAN)
    observer = DecisionObserver("run", lambda: plan)
    state.tracks["main>left"] = Track(team=team, visit=visit, branch=True)
    if frame:
        state.frames[f"main>left:{team}#{visit}"] = Frame()
    observer.see(state)
    del state.tracks["main>left"]
    observer.note(state, TrailRecord(1, 5.0, "step", "start", 1, "left", "cancelled"))
    return {key: one for key, one in observer.visits.items() if key != ("start", 1)}


def test_a_branch_that_was_stopped_in_a_visit_is_reported_with_when_it_ended() -> None:
    stopped = Visit("left", 1, ended=AT, status="stopped")
    assert witnessed("left", 1, frame=True) == {("left", 1): stopped}


@pytest.mark.parametrize(
    ("team", "visit", "frame"),
    [("left", 0, False), ("left", 1, False), (None, 0, False), ("of another plan", 1, True)],
    ids=["before its visit", "before its first step", "at its end", "unknown"],
)
def test_a_branch_that_had_done_nothing_when_it_was_stopped_has_no_visit_that_ended(
    team: str | None, visit: int, frame: bool
) -> None:
    assert witnessed(team, visit, frame=frame) == {}


def test_events_between_two_visits_belong_to_the_next_one_only() -> None:
    plan = plan_of(PLAN)
    observer, state = DecisionObserver("run", lambda: plan), RunState()
    entries = [
        TrailRecord(1, 5.0, "step", "start", 0, "met"),
        TrailRecord(2, 5.0, "team", "left", 1),
        TrailRecord(3, 5.0, "team", "right", 1),
    ]
    for noted in entries:
        observer.note(state, noted)
    found = {
        team: [one.entry.number for one in visit.happened]
        for (team, _), visit in observer.visits.items()
    }
    assert found == {"left": [1], "right": []}


FORKING = """
orchestration:
  entry_team: start
  teams:
    start:
      tasks:
        - name: b
          type: branch
          branches: [{condition: {path: context.n, equals: 1}, steps: [SET]}]
        - {name: c, type: set, when: "{{ context.n == 1 }}", values: {n: 1}}
"""
CHOOSING = FORKING.replace("SET", "{name: a, type: set, values: {n: 1}}")
TWICE = f"""
llm_config:
  personas:
    coder:
      provider: scripted
      model: m
      execution_plan: [{{ name: c, type: set, values: {{ n: 1 }} }}]
{CHOOSING}        - {{ name: code, agent_type: generic_orchestrating, persona_key: coder }}
"""


def observed(text: str) -> tuple[DecisionObserver, RunState]:
    """A run in the visit `start#1`, which its observer has seen."""
    plan, state = plan_of(text), RunState()
    observer = DecisionObserver("run", lambda: plan)
    state.main.team, state.main.visit, state.main.context = "start", 1, {"n": 1}
    state.frames["main:start#1"] = Frame()
    observer.see(state)
    return observer, state


def entry(
    kind: TrailKind, step: str | None = None, status: str | None = None, visit: int = 1
) -> TrailRecord:
    skipped = status == "skipped"
    cause = WhenAsked("when_did_not_hold", ExpressionFound("expression", "x")) if skipped else None
    return TrailRecord(1, 5.0, kind, "start", visit, step, status, cause)


@pytest.mark.parametrize(
    ("text", "noted", "evidence"),
    [
        (CHOOSING, entry("step", "b", "chosen"), (1, False)),
        (CHOOSING, entry("step", "b", "success"), (0, False)),
        (CHOOSING, entry("step", "c", "chosen"), (0, False)),
        (CHOOSING, entry("step", "c", "skipped"), (0, True)),
        (TWICE, entry("step", "c", "skipped"), (0, False)),
        (CHOOSING, entry("step", "gone", "skipped"), (0, False)),
    ],
    ids=["branch", "end of branch", "no branch", "when", "two steps of one name", "unknown"],
)
def test_an_event_has_the_evidence_of_its_own_step(
    text: str, noted: TrailRecord, evidence: tuple[int, bool]
) -> None:
    observer, state = observed(text)
    observer.note(state, noted)
    [event] = observer.visits["start", 1].happened
    assert (len(event.alternatives), event.when is not None) == evidence


def test_an_event_of_a_visit_that_nobody_saw_has_no_evidence() -> None:
    observer, state = observed(CHOOSING)
    unseen = DecisionObserver("run", observer.plan)
    unseen.note(state, entry("step", "b", "chosen"))
    [event] = unseen.visits["start", 1].happened
    assert event.alternatives == ()
    del state.frames["main:start#1"]
    observer.note(state, entry("step", "b", "chosen"))
    [event] = observer.visits["start", 1].happened
    assert event.alternatives == ()


def test_a_visit_keeps_its_own_route_when_its_branches_are_left() -> None:
    observer, state = observed(CHOOSING)
    observer.note(state, replace(entry("route", status="success"), at=6.0, next_team="a"))
    observer.note(state, replace(entry("route", status="success"), number=2, at=7.0))
    assert observer.visits["start", 1].next_team == "a"
    observer.note(state, entry("team", visit=2))
    assert [one.entry.number for one in observer.visits["start", 2].happened] == [2]
    observer.note(state, replace(entry("route", status="LimitExceeded"), at=8.0))
    assert observer.visits["start", 1].status == "LimitExceeded"


@pytest.mark.parametrize(("done", "rules"), [(["b"], None), (["b", "c"], ())])
def test_rules_are_shown_only_if_every_task_of_the_team_has_ended(
    done: list[str], rules: tuple[()] | None
) -> None:
    observer, state = observed(CHOOSING)
    state.frames["main:start#1"].tasks.update(dict.fromkeys(done, Outcome.succeeded({})))
    observer.note(state, entry("route", status="success"))
    assert observer.visits["start", 1].rules == rules


@pytest.mark.parametrize(
    ("reason", "since", "because"),
    [
        ("redirected", 1, "redirected to u by ann"),
        ("redirected", 2, ""),
        ("rule", 1, ""),
    ],
)
def test_a_branch_that_a_redirect_stopped_says_so(reason: str, since: int, because: str) -> None:
    plan, state = plan_of(PLAN), RunState()
    observer = DecisionObserver("run", lambda: plan)
    cause = SentOn("redirected", "u", "ann")
    state.main.routed = Routed(reason, cause)
    state.tracks["main>left"] = Track(team="left", visit=1, branch=True)
    state.frames["main>left:left#1"] = Frame({"l": Outcome.succeeded({})})
    observer.see(state)
    for _ in range(since):  # the redirect is one of the latest two entries, or no longer
        observer.trail.append(TrailRecord(1, 5.0, "step", "start", 1).to_entry())
    observer.trail[0] = TrailRecord(1, 5.0, "route", "start", 1, cause=cause).to_entry()
    del state.tracks["main>left"]
    observer.note(state, TrailRecord(2, 5.0, "step", "start", 1, "left", "cancelled"))
    stopped = observer.visits["left", 1]
    assert (stopped.because, stopped.rules) == (because, None)


@pytest.mark.parametrize(("done", "status"), [(["b"], "stopped"), (["b", "c"], "TeamFailed")])
def test_a_branch_that_found_no_route_says_so_once_all_its_tasks_have_ended(
    done: list[str], status: str
) -> None:
    plan, state = plan_of(CHOOSING), RunState()
    observer = DecisionObserver("run", lambda: plan)
    state.tracks["main>start"] = Track(team="start", visit=1, branch=True)
    failed = Outcome.failed("E", "x")
    state.frames["main>start:start#1"] = Frame(dict.fromkeys(done, failed))
    observer.see(state)
    del state.tracks["main>start"]
    observer.note(state, TrailRecord(1, 5.0, "step", "other", 1, "x"))
    assert observer.visits["start", 1].status == status


def test_a_run_that_goes_on_from_a_state_is_compared_with_that_state() -> None:
    _, state = observed(CHOOSING)
    observer = DecisionObserver("run", lambda: plan_of(CHOOSING))
    run = ObservedState.of(state, observer)
    run.main.context = {"n": 2}
    run.note(entry("control"))
    [event] = observer.visits["start", 1].happened
    assert event.changes == (PathChange("n", "changed", 1, 2),)
