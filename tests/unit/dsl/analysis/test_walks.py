"""Held against every walk through small graphs, and against real runs of the interpreter."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from random import Random

from hypothesis import assume, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from coterie.activities.contracts import (
    AgentError,
    AgentRequest,
    AgentResponse,
    FailureType,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.routes.team_graph import Teams
from coterie.dsl.analysis.worst_case import WorstCase, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import LimitExceeded, TeamError
from coterie.dsl.evaluate.limits import check
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.logic.possible_statuses import after_all
from coterie.dsl.logic.routing_gaps import holes
from coterie.dsl.logic.solver import BITS, Effort
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.values import Json
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import run
from tests.unit.dsl.analysis.random_teams import compiled, documents

TERMS = Terms({}, 1000)
DATA: list[Json] = [{"v": 0}, {"v": 1}, {"v": 2}, {}]
ENDS = [*map(Outcome.succeeded, DATA), *(Outcome.failed("Failed", "no", data) for data in DATA)]


def ways(team: Team) -> Iterator[tuple[str | None, dict[str, Outcome]]]:
    """Every way that a visit of a team can end, and where it leads; a failed run leads nowhere."""
    for ends in product(ENDS, repeat=len(team.steps)):
        tasks: dict[str, Outcome] = {}
        failed = False
        for step, end in zip(team.steps, ends, strict=True):
            tasks[step.name] = Outcome.skipped() if failed and team.stop_on_failure else end
            failed = failed or not end.success
        try:
            route = choose(team, Facts(context={}, tasks=tasks))
        except TeamError:
            continue
        assert not isinstance(route.next_team, tuple)
        yield route.next_team, tasks


@dataclass
class Walks:
    """Every walk through a plan without fan-outs, as the run's own rules allow it."""

    plan: Plan
    leads: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    maximum: dict[str, int] = field(default_factory=dict[str, int])
    longest: int = 0

    def __post_init__(self) -> None:
        for team in self.plan.teams.values():
            self.leads[team.id] = {to for to, _ in ways(team) if to is not None}

    def walk(self, team: str, visits: dict[str, int]) -> None:
        total = sum(visits.values())
        try:
            check(self.plan.limits, self.plan.teams[team], total, visits)
        except LimitExceeded:
            return
        visits = {**visits, team: visits.get(team, 0) + 1}
        self.longest = max(self.longest, total + 1)
        self.maximum[team] = max(self.maximum.get(team, 0), visits[team])
        for other in self.leads[team]:
            self.walk(other, visits)

    def reached(self) -> set[str]:
        found = {self.plan.entry_team}
        while more := {other for team in found for other in self.leads[team]} - found:
            found |= more
        return found


def analysis_of(document: Json) -> tuple[Compiled, Teams, WorstCase]:
    done = compiled(document)
    assume(done is not None)
    assert done is not None
    analysis = analysed(done)
    return done, analysis.graph, worst_case(done, analysis, TERMS)


@settings(max_examples=80, deadline=None)
@given(documents(simple=True))
def test_reachability_and_visits_agree_with_every_walk(document: Json) -> None:
    done, graph, worst = analysis_of(document)
    walks = Walks(done.plan)
    walks.walk(done.plan.entry_team, {})
    assert graph.reached == walks.reached()
    assert walks.longest <= worst.total.visits <= done.plan.limits.max_total_teams
    for team, most in walks.maximum.items():
        assert most <= worst.teams[team].visits <= done.plan.limits.max_recursion_depth


@settings(max_examples=80, deadline=None)
@given(documents(simple=True))
def test_findings_about_rules_and_failures_hold_for_every_visit(document: Json) -> None:
    done, graph, _ = analysis_of(document)
    for team in done.plan.teams.values():
        worlds = after_all(team.steps, team.stop_on_failure)
        taken: set[str | None] = set()
        for to, tasks in ways(team):
            taken.add(to)
            assert any(
                all(BITS[end.status] & world.of[name] for name, end in tasks.items())
                for world in worlds
            )
        exits = [exit for exit in graph.exits[team.id] if exit.usable]
        usable = {exit.targets[0] if exit.targets else None for exit in exits}
        assert taken == usable
        routing = team.routing
        if routing is None or routing.default is not None or routing.ends_by_default:
            continue
        rules = [rule.condition for rule in routing.rules]
        open_ = holes(team.steps, team.stop_on_failure, rules, Effort())
        for _, tasks in ways(team):
            failed = next((name for name, end in tasks.items() if end.status == "failure"), None)
            assert failed not in open_.after_failure or not routing.rules


class Dice:
    """A model that answers at random, but the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        match self.random.choice(["good", "good", "bad", "unusable"]):
            case "good":
                return AgentResponse(success=True, data={"v": self.random.choice([0, 1, 2])})
            case "bad":
                return AgentResponse(success=False, error=AgentError(type="Failed", message="no"))
            case _:
                error = AgentError(type=FailureType.ANSWER_UNUSABLE, message="no")
                return AgentResponse(success=False, error=error, answer="")

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError("no document here calls a tool function")


def played(plan: Plan, seed: int) -> tuple[RunState, str]:
    """One run in this process; how it ended."""
    state = RunState()
    begin(plan, state)
    try:
        result = asyncio.run(run(LocalScope(plan, state, Dice(seed))))
    except RunFailed as error:
        return state, error.result.end
    return state, result.end


@settings(max_examples=80, deadline=None)
@given(documents(simple=False), st.lists(st.integers(0, 10**6), min_size=1, max_size=4))
def test_no_run_does_what_is_said_to_be_impossible(document: Json, seeds: list[int]) -> None:
    done, graph, worst = analysis_of(document)
    loops = [problem for problem in analysed(done).findings if problem.code == "W506"]
    one_way = not any(exit.fans_out for exits in graph.exits.values() for exit in exits)
    for seed in seeds:
        state, end = played(done.plan, seed)
        assert set(state.visits) <= graph.reached
        assert state.teams_run <= worst.total.visits
        assert all(worst.teams[team].visits >= most for team, most in state.visits.items())
        assert state.model_calls <= worst.total.model_calls
        for entry in state.trail:
            if entry.kind == "route" and entry.status in ("success", "failure"):
                assert _possible(entry.team, entry.because, graph)
        if loops and one_way and end == "completed":
            last = next(e for e in reversed(state.trail) if e.kind == "route")
            assert last.status == "failure" or not _within(last.team, loops[0].message)


def _possible(team: str, because: str, graph: Teams) -> bool:
    """Whether the analysis leaves the way that a run took."""
    number = because.partition(":")[0].removeprefix("rule ")
    rule = int(number) - 1 if number.isdigit() else None
    return any(exit.rule == rule and exit.usable for exit in graph.exits[team])


def _within(team: str, message: str) -> bool:
    loop = message.partition(" has no exit")[0].removeprefix("the loop ")
    return team in loop.replace("of ", "").replace(",", " ").split() or f"{team!r} leads" in message


SORTS = {"completed", "failed", "max_total_teams", "max_recursion_depth", "fan-out", "call"}
FOUND = {"W503", "W504", "W505", "W506"}
SAMPLES = 32
"""The rarest sort is two to ten of 200 documents; a sample holds 50, and the first few show all."""


def test_random_documents_are_not_all_alike() -> None:
    """They fan out, call teams, fail, complete and come to their limits."""
    seen: set[str] = set()

    @settings(max_examples=50, database=None)
    @given(documents(simple=False), st.integers(0, 10**6))
    def look(document: Json, number: int) -> None:
        done = compiled(document)
        if done is None:
            return
        state, end = played(done.plan, number)
        seen.add(end)
        for entry in state.trail:
            if entry.kind == "route" and "," in (entry.next_team or ""):
                seen.add("fan-out")
            if "called by" in entry.because:
                seen.add("call")
        seen.update({problem.code for problem in analysed(done).findings})

    for sample in range(SAMPLES):
        seeded(sample)(look)()
        if seen >= SORTS | FOUND:
            return
    raise AssertionError(f"no document shows {sorted((SORTS | FOUND) - seen)}")
