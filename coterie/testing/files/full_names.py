"""Replace the short names of steps in a test document by full ones, which the run uses."""

import re
from typing import TypeVar

from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_paths import asking_steps, call_paths, step_paths
from coterie.testing.files.case_document import (
    AmendmentDocument,
    CancelDocument,
    CaseDocument,
    DecisionDocument,
    FunctionResultDocument,
    MessageDocument,
    PauseDocument,
    RedirectDocument,
    SayDocument,
    SignalDocument,
    SkipDocument,
    TestDocument,
    TrailCheck,
)
from coterie.testing.files.short_names import StepNames
from coterie.workflows.core.state_keys import StepKey

TimedT = TypeVar(
    "TimedT",
    AmendmentDocument,
    CancelDocument,
    MessageDocument,
    PauseDocument,
    RedirectDocument,
    SayDocument,
    SignalDocument,
    SkipDocument,
)

PATTERN = re.compile(r"[*?]")


def with_full_names(document: TestDocument, plan: Plan) -> TestDocument:
    """Return the document with the full name of every step that it names."""
    names = _FullNames(plan)
    return document.model_copy(
        update={
            "functions": names.functions(document.functions),
            "cases": tuple(names.case(case) for case in document.cases),
        }
    )


def names_within(plan: Plan, team: object = None) -> StepNames:
    """Return the names of steps below their team, as the trail has them.

    Args:
        plan: The plan.
        team: Only those of this team, if it is one.
    """
    named = isinstance(team, str) and team in plan.teams
    steps = map(StepKey, step_paths(plan) | call_paths(plan))
    paths = {step.path for step in steps if not named or step.team == team}
    return StepNames(paths | set(plan.teams))  # a cancelled branch has the name of its team


def split_step(plan: Plan, step: str, team: object = None) -> tuple[object, str]:
    """Return the team and the path below it of a step in an expected entry of the trail.

    Args:
        plan: The plan.
        step: A path below a team, an end of one, or `team/path`, as the trail prints it.
        team: What the entry expects of the team.
    """
    first, _, path = step.partition("/")
    if names_within(plan, team).candidates(step) or first not in plan.teams:
        return team, step
    if team not in (None, first) or not names_within(plan, first).candidates(path):
        return team, step
    return first, path


class _FullNames:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        calls = call_paths(plan)
        self._steps = StepNames(step_paths(plan) | calls)
        self._asking = StepNames(asking_steps(plan) | calls)

    def functions(
        self, entries: tuple[FunctionResultDocument, ...]
    ) -> tuple[FunctionResultDocument, ...]:
        return tuple(
            entry.model_copy(update={"step": self._steps.full(entry.step)}) for entry in entries
        )

    def case(self, case: CaseDocument) -> CaseDocument:
        expect = case.expect.model_copy(
            update={"trail": tuple(self._entry(entry) for entry in case.expect.trail)}
        )
        return case.model_copy(
            update={
                "functions": self.functions(case.functions),
                "decisions": tuple(self._decision(entry) for entry in case.decisions),
                "signals": tuple(self._with_full_time(entry) for entry in case.signals),
                "messages": tuple(self._with_full_time(entry) for entry in case.messages),
                "pauses": tuple(self._with_full_time(entry) for entry in case.pauses),
                "amendments": tuple(self._with_full_time(entry) for entry in case.amendments),
                "redirects": tuple(self._with_full_time(entry) for entry in case.redirects),
                "skips": tuple(self._skip(self._with_full_time(entry)) for entry in case.skips),
                "says": tuple(self._say(self._with_full_time(entry)) for entry in case.says),
                "cancel": None if case.cancel is None else self._with_full_time(case.cancel),
                "crash_after": self._several(case.crash_after),
                "crash_during": self._several(case.crash_during),
                "expect": expect,
            }
        )

    def _with_full_time(self, event: TimedT) -> TimedT:
        if event.during is None:
            return event
        return event.model_copy(update={"during": self._steps.full(event.during)})

    def _skip(self, entry: SkipDocument) -> SkipDocument:
        return entry.model_copy(update={"task": self._steps.full(entry.task)})

    def _say(self, entry: SayDocument) -> SayDocument:
        if entry.step is None:
            return entry
        return entry.model_copy(update={"step": self._steps.full(entry.step)})

    def _several(self, names: tuple[str, ...] | str) -> tuple[str, ...] | str:
        if isinstance(names, str):
            return self._steps.full(names)
        return tuple(self._steps.full(name) for name in names)

    def _decision(self, entry: DecisionDocument) -> DecisionDocument:
        """Complete a name to a pattern that any visit of the request matches."""
        if PATTERN.search(entry.approval):
            return entry
        full = self._asking.full(entry.approval)
        return entry.model_copy(update={"approval": full if "#" in full else f"{full}#*"})

    def _entry(self, entry: TrailCheck) -> TrailCheck:
        if not isinstance(entry.step, str):
            return entry
        team, step = split_step(self._plan, entry.step, entry.team)
        full = names_within(self._plan, team).full(step)
        return entry.model_copy(
            update={"step": full} if team is None else {"step": full, "team": team}
        )
