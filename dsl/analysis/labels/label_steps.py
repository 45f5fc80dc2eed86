"""The flow of labels through steps: how each kind of step passes on what a run has met."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from coterie.dsl.analysis.labels.label_calls import CallFlow, FollowTeam, Leak, WalkPosition
from coterie.dsl.analysis.labels.label_sources import brought, clears, sources
from coterie.dsl.analysis.labels.labels_at_points import (
    FRESH,
    NOTHING,
    Points,
    PointsByEnd,
    Source,
    bringing,
    possibly,
    union,
)
from coterie.dsl.analysis.variable_scopes import Bodies, Body
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_list import (
    Choosing,
    Concurrent,
    EachRound,
    EachTask,
    Grouped,
    OnFailedTask,
    StepList,
    Tried,
    WhenHolds,
    catches_all,
    form_of,
)
from coterie.dsl.model.steps import (
    ApprovalStep,
    FunctionStep,
    LegacyAgentStep,
    ParallelStep,
    PersonaStep,
    ReturnStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
)
from coterie.dsl.model.traversal.callable_tools import tools_of
from coterie.dsl.values import NodePath


class StepFlow:
    """The flow of labels through the steps of one plan."""

    def __init__(
        self,
        plan: Plan,
        bodies: Bodies,
        run_team: FollowTeam,
        brought_by: Callable[[Iterable[str]], tuple[Source, ...]],
    ) -> None:
        self._plan = plan
        self._bodies = bodies
        self._run_team = run_team
        self._brought_by = brought_by
        """Returns what these teams may bring, and those that they lead to."""
        self._teams_clear = any(
            clears(step) for body in bodies.teams.values() for step, _ in body.steps_with_paths
        )
        self._calls = CallFlow(plan, bodies, run_team, self.steps)

    @property
    def leaks(self) -> Iterable[Leak]:
        """What was found so far, each call once."""
        return self._calls.leaks.values()

    def begin_pass(self) -> None:
        """Follow every call again, from what the passes so far have found."""
        self._calls.begin_pass()

    @property
    def known(self) -> int:
        """How much the passes so far have found."""
        return self._calls.known

    def steps(
        self,
        steps: Sequence[Step],
        path: NodePath,
        points: Points,
        position: WalkPosition,
        failed_at: dict[str, Points] | None = None,
    ) -> PointsByEnd:
        """Return how steps that follow each other may end."""
        failed = returned = NOTHING
        for index, step in enumerate(steps):
            here = (*path, index)
            ends = self._step(step, here, points, position)
            failed = union(failed, ends.failed)
            returned = union(returned, ends.returned)
            if failed_at is not None:
                failed_at[step.name] = ends.failed
            points = ends.done
        return PointsByEnd(points, failed, returned)

    def _step(
        self, step: Step, path: NodePath, points: Points, position: WalkPosition
    ) -> PointsByEnd:
        position = position.of(step.name, path)
        ends = self._attempt(step, path, possibly(points, position.beside), position)
        if step.retry is not None:
            again = union(points, ends.failed)
            while again.keys() != points.keys():
                points = again
                ends = self._attempt(step, path, possibly(points, position.beside), position)
                again = union(points, ends.failed)
        success_points = possibly(ends.done, position.beside)
        if step.when is not None:
            success_points = union(success_points, points)
        if step.on_failure in ("continue", "ask"):
            success_points = union(success_points, ends.failed)
        return PointsByEnd(success_points, ends.failed, ends.returned)

    def _attempt(  # one case a kind
        self, step: Step, path: NodePath, points: Points, position: WalkPosition
    ) -> PointsByEnd:
        match step:
            case FunctionStep(skill=function, terms=terms, requires_approval=approval):
                labels = () if terms is None else terms.labels
                self._calls.note(function, labels, approval, points, position)
                success_points = bringing(points, brought(labels, position.name, function))
                return PointsByEnd(success_points, union(points, success_points))
            case ToolStep():
                results = [
                    self._calls.tool(name, tool, points, position)
                    for name, tool in tools_of(step, self._plan)
                ]
                success_points = union(*results)
                return PointsByEnd(success_points, union(points, success_points))
            case PersonaStep():
                success_points = self._calls.agent(step, points, position)
                return PointsByEnd(success_points, union(points, success_points))
            case TeamStep(team=team):
                ends = self._run_team(team, points, position)
                return PointsByEnd(ends.done, union(points, ends.done, ends.failed))
            case LegacyAgentStep():
                return PointsByEnd(points, points)
            case ApprovalStep():
                return PointsByEnd(FRESH if clears(step) else points, points)
            case ReturnStep():
                return PointsByEnd(NOTHING, points, points)
            case _:
                return self._lists(step, path, points, position)

    def _lists(
        self, step: Step, path: NodePath, points: Points, position: WalkPosition
    ) -> PointsByEnd:
        """Follow the lists of a step."""
        inside = tuple(step.lists(path))
        match form_of(inside):
            case None:
                return PointsByEnd(points, points)
            case EachRound(concurrency=concurrency):
                return self._rounds(inside, concurrency != 1, points, position)
            case Choosing():
                together = isinstance(step, TaskGraphStep) and step.concurrency != 1
                return self._rounds(inside, together, points, position)
            case WhenHolds():
                some = [self.steps(below.steps, below.path, points, position) for below in inside]
                return PointsByEnd(
                    union(points, *(ends.done for ends in some)),
                    union(points, *(ends.failed for ends in some)),
                    union(*(ends.returned for ends in some)),
                )
            case Concurrent():
                all_end = isinstance(step, ParallelStep) and step.join == "all"
                return self._together(inside, all_end, points, position)
            case Tried():
                return self._try_step(inside, points, position)
            case Grouped():
                ends = self.steps(inside[0].steps, inside[0].path, points, position)
                return PointsByEnd(ends.done, union(points, ends.failed), ends.returned)

    def _rounds(
        self, inside: Sequence[StepList], together: bool, points: Points, position: WalkPosition
    ) -> PointsByEnd:
        """Repeat all lists of a loop or a task graph, in any order, until nothing new is met."""
        if together:
            around = (
                source for below in inside for source in self._within(below.steps, position.name)
            )
            position = position._replace(beside=(*position.beside, *around))
        success_points, failure_points, return_points = points, points, NOTHING
        while True:
            before = success_points
            for below in inside:
                ends = self.steps(below.steps, below.path, success_points, position)
                success_points = union(success_points, ends.done, ends.returned)
                failure_points = union(failure_points, ends.failed)
                return_points = union(return_points, ends.returned)
                if isinstance(below.role, Choosing | EachTask | OnFailedTask):
                    # a failed task ends no other one
                    success_points = union(success_points, ends.failed)
            if success_points.keys() == before.keys():
                return PointsByEnd(
                    success_points, union(failure_points, success_points), return_points
                )

    def _together(
        self, inside: Sequence[StepList], all_end: bool, points: Points, position: WalkPosition
    ) -> PointsByEnd:
        success_points = failure_points = return_points = NOTHING
        for below in inside:
            around = tuple(
                source
                for other in inside
                if other is not below
                for source in self._within(other.steps, position.name)
            )
            here = position._replace(beside=(*position.beside, *around))
            ends = self.steps(below.steps, below.path, possibly(points, around), here)
            success_points = union(success_points, ends.done)
            failure_points = union(failure_points, ends.failed)
            return_points = union(return_points, ends.returned)
        if any(self._may_clear(below.steps) for below in inside):  # which counts within it alone
            around = [
                source for below in inside for source in self._within(below.steps, position.name)
            ]
            success_points = union(success_points, possibly(points, around))
        some_fail = union(points, failure_points)
        finished = success_points if all_end else union(success_points, failure_points)
        return PointsByEnd(finished, union(some_fail, success_points), return_points)

    def _within(self, steps: Sequence[Step], name: str) -> Iterator[Source]:
        """Yield what these steps may bring, with the agents and teams that they call."""
        for body in self._bodies.within(Body("", tuple(steps), ())):
            yield from sources(body.steps, self._plan, name)
            teams = (step.team for step, _ in body.steps_with_paths if isinstance(step, TeamStep))
            yield from self._brought_by(teams)

    def _may_clear(self, steps: Sequence[Step]) -> bool:
        """Return whether a person may decide within these steps, or in a team that they call."""
        return any(
            clears(step) or (isinstance(step, TeamStep) and self._teams_clear)
            for body in self._bodies.within(Body("", tuple(steps), ()))
            for step, _ in body.steps_with_paths
        )

    def _try_step(
        self, inside: Sequence[StepList], points: Points, position: WalkPosition
    ) -> PointsByEnd:
        tried, *clauses, last = inside
        ends = self.steps(tried.steps, tried.path, points, position)
        success_points, return_points = ends.done, ends.returned
        failure_points = NOTHING if catches_all(clauses) else union(points, ends.failed)
        for clause in clauses:
            handled = self.steps(clause.steps, clause.path, union(points, ends.failed), position)
            success_points = union(success_points, handled.done)
            failure_points = union(failure_points, handled.failed)
            return_points = union(return_points, handled.returned)
        well = self.steps(last.steps, last.path, success_points, position)
        badly = self.steps(last.steps, last.path, failure_points, position)
        back = self.steps(last.steps, last.path, return_points, position)
        failures = union(well.failed, badly.done, badly.failed, back.failed)
        return PointsByEnd(well.done, failures, union(back.done, well.returned, badly.returned))
