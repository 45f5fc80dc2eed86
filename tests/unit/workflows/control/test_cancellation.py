"""What a cancelled run still does on its way out is noted, and fails nothing."""

from dataclasses import replace

import pytest

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.causes import RunCancelled, SentOn
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.workflows.control.cancellation import at_last, begin_to_stop, stop
from coterie.workflows.core.causes.people_causes import TooLate
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.location import Redirected
from coterie.workflows.core.messages import AmendInput
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.state_parts import Frame, Track
from coterie.workflows.core.views import Paused
from coterie.workflows.interpreter import TeamInterpreter
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")


async def test_failure_at_the_end_of_a_run_is_noted_without_a_visit() -> None:
    scope = StoppingScope(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)

    async def work() -> None:
        raise TemplateFailed("no x")

    await at_last(scope, "a/s", work)
    noted = scope.state.trail[-1]
    assert (noted.kind, noted.team, noted.visit, noted.step) == ("step", "", 0, "a/s")
    assert (noted.status, noted.because) == ("failed", "TemplateFailed: no x")


async def test_cleanup_without_time_left_is_noted_without_a_visit() -> None:
    world = World(lambda _: {})
    scope = StoppingScope(PLAN, fresh(PLAN, {}), world, None)
    scope.state.stop_by = scope.time()

    async def work() -> None:
        raise AssertionError

    await at_last(scope, "a/s", work)
    noted = scope.state.trail[-1]
    assert (noted.team, noted.visit, noted.step, noted.status) == ("", 0, "a/s", "cancelled")
    assert noted.because == "cancel_timeout: 60 s have passed"


SENT = SentOn("redirected", "b", "ann")


@pytest.mark.parametrize(
    ("left", "failure"),
    [
        (TemplateFailed("no x"), Failure("TemplateFailed", "no x")),
        (Redirected("b", SENT), Failure("Redirected", route_because(SENT))),
    ],
)
async def test_what_a_cleanup_step_ends_with_is_its_failure(
    left: Exception, failure: Failure
) -> None:
    scope = StoppingScope(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)

    async def work() -> None:
        raise left

    await at_last(scope, "a/s", work)
    cause = scope.state.trail[-1].cause
    assert isinstance(cause, Failed)
    assert cause.failure == failure


async def test_a_cleanup_step_runs_while_any_time_is_left() -> None:
    scope = StoppingScope(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)
    scope.state.stop_by = scope.time() + 0.5
    done: list[str] = []

    async def work() -> None:
        done.append("work")

    await at_last(scope, "a/s", work)
    assert (done, scope.state.trail) == (["work"], [])


class Cancelled(StoppingScope):
    """The scope of a run that somebody cancels."""

    def cancelled(self) -> str | None:
        return "enough"


TEAMS = """
orchestration:
  entry_team: plain
  teams:
    plain:
      tasks: [{name: note, type: set, values: {n: 1}}]
      routing: {default: guarded}
    guarded:
      on_cancel: own
      tasks: [{name: note, type: set, values: {n: 1}}]
    own: {tasks: [{name: kept, type: set, values: {n: "{{ teams.guarded.tasks.note.data.n }}"}}]}
    tidy: {tasks: [{name: tidied, type: set, values: {n: 1}}]}
    routed:
      tasks: [{name: gone, type: set, values: {n: 1}}]
      routing: {default: broken}
    broken: {tasks: [{name: break, type: fail, error: Broken, message: "no"}]}
"""


def cancelled(on_cancel: str | None, **tracks: Track) -> Cancelled:
    """A run with these tracks, whose teams in progress have ended a task."""
    head = "" if on_cancel is None else f"\n  on_cancel: {on_cancel}"
    plan = plan_of(TEAMS.replace("\n  entry_team: plain", f"\n  entry_team: plain{head}"))
    state = fresh(plan, {})
    state.tracks = {name.replace("_", ">"): track for name, track in tracks.items()}
    for name, track in state.tracks.items():
        track.context = {"of": track.team}
        if track.visit:
            key = StateKey.visit(name, track.team, track.visit)
            state.frames[key] = Frame({"note": Outcome.succeeded({"n": 7})}, {})
    return Cancelled(plan, state, World(lambda _: {}), None)


GUARDED, PLAIN = Track(team="guarded", visit=1), Track(team="plain", visit=1)


@pytest.mark.parametrize(
    ("on_cancel", "tracks", "cleaners"),
    [
        ("tidy", {"main": GUARDED}, {"own": "guarded"}),
        ("tidy", {"main": PLAIN}, {"tidy": "plain"}),
        ("tidy", {"main": Track(team="guarded")}, {"tidy": "guarded"}),
        ("tidy", {"main": Track()}, {"tidy": None}),
        (None, {"main": PLAIN}, {}),
        (None, {"main": Track(team="guarded")}, {}),
        (
            "tidy",
            {"main": Track(), "main_guarded": GUARDED, "main_plain": PLAIN},
            {"tidy": None, "own": "guarded"},
        ),
        (None, {"main": Track(), "main_guarded": GUARDED, "main_plain": PLAIN}, {"own": "guarded"}),
        ("tidy", {"main": GUARDED, "main_plain": Track(team="plain")}, {"own": "guarded"}),
        ("tidy", {"main": GUARDED, "main_plain": PLAIN}, {"own": "guarded", "tidy": "plain"}),
    ],
)
async def test_a_cancelled_run_cleans_up_after_each_open_team_or_after_itself(
    on_cancel: str | None, tracks: dict[str, Track], cleaners: dict[str, str | None]
) -> None:
    scope = cancelled(on_cancel, **{name: replace(track) for name, track in tracks.items()})
    result = await stop(scope, TeamInterpreter(scope))
    state = scope.state
    assert state.stop_by is not None
    assert state.trail[0].cause == RunCancelled("cancelled", "enough")
    assert (result.end, set(result.visits)) == ("cancelled", set(cleaners))
    contexts = {team: state.tracks[StateKey.cleanup(team)].context for team in cleaners}
    assert contexts == {team: {"of": of} for team, of in cleaners.items()}
    assert [entry for entry in state.trail if entry.status == "failed"] == []


async def test_a_cleanup_team_reads_the_tasks_of_the_team_that_was_cancelled() -> None:
    scope = cancelled(None, main=replace(GUARDED))
    result = await stop(scope, TeamInterpreter(scope))
    track = scope.state.tracks[StateKey.cleanup("own")]
    assert track.latest["guarded"]["note"].data == {"n": 7}
    assert track.latest["own"]["kept"].data == {"n": 7}
    assert (result.context, track.context) == ({"of": "guarded"}, {"of": "guarded"})


@pytest.mark.parametrize("first", ["broken", "routed"])
async def test_a_cleanup_team_that_fails_is_noted_and_the_run_ends_as_cancelled(
    first: str,
) -> None:
    scope = cancelled(first, main=replace(PLAIN))
    result = await stop(scope, TeamInterpreter(scope))
    (noted,) = [entry for entry in scope.state.trail if entry.kind == "control"][1:]
    assert (result.end, noted.team, noted.status) == ("cancelled", "broken", "failed")
    assert isinstance(noted.cause, Failed)
    assert noted.cause.failure.type == "TeamFailed"


async def test_the_first_moment_of_a_cancellation_counts_and_ends_what_waits() -> None:
    scope = cancelled(None, main=replace(PLAIN))
    scope.state.paused = Paused(by="ann", why="", since="")
    scope.state.amendments.append(AmendInput(updates={"a": 1}))
    ends = begin_to_stop(scope)
    assert ends == scope.time() + scope.plan.limits.cancel_timeout
    scope.world.seconds += 10
    assert begin_to_stop(scope) == ends
    assert (scope.state.paused, scope.state.amendments) == (None, [])
    assert [type(entry.cause) for entry in scope.state.trail] == [RunCancelled, TooLate]
