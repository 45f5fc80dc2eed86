"""Location: where in a run a step is, and what it sees from there."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from coterie.dsl.errors import LimitExceeded
from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.causes import RouteCause
from coterie.dsl.model.facts import Facts, Outcomes
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.values import Json
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import StateKey, StepKey
from coterie.workflows.core.state_parts import Frame, Track


class Location(NamedTuple):
    """Where a step is: track, team, visit, path, and the frame that it writes to.

    A tuple, since the sandbox makes each class anew for each run, and a dataclass takes longer.
    """

    key: StateKey
    """The key under which the state keeps what it knows of this location."""
    step: StepKey
    """The step, whichever track and visit it runs in."""
    track: StateKey
    team: str
    visit: int
    frame_key: StateKey
    path: str = ""
    """`coder/process_changes_loop/apply_change`; empty for the team itself."""
    personas: tuple[str, ...] = ()
    """The personas whose execution plans and turns contain the step, outermost first."""
    loop: StateKey | None = None
    """Key of the innermost loop that watches for repeated calls."""
    drafts: tuple[StateKey, ...] = ()
    """Keys of the drafts that its writes go to, outermost first; none for the context itself."""
    tool: str = ""
    """The tool that the agent here runs as; empty for any other step."""
    enclosing_tools: tuple[str, ...] = ()
    """The tools made of agents and teams whose calls contain the step, outermost first."""

    @classmethod
    def of_visit(
        cls,
        name: StateKey,
        team: str | None,
        visit: int,
        track: Track | None = None,
    ) -> "Location":
        """Return the location of a visit, with the frame that its tasks write to.

        Args:
            name: of the track.
            team: that the track visits; None between two visits.
            visit: its number.
            track: with the calls that contain it; None if they do not matter.
        """
        step, key = StepKey.of(team or "", ""), StateKey.at(name, team or "", visit, "")
        here = cls(key, step, name, team or "", visit, key)
        if track is None or not (track.personas or track.enclosing_tools):
            return here
        return here._replace(personas=track.personas, enclosing_tools=track.enclosing_tools)

    def at(self, name: str) -> "Location":
        """Return the location of a step within this one."""
        return self.beside(f"{self.path}/{name}" if self.path else name)

    def beside(self, path: str) -> "Location":
        """Return the location of another path in the same frame."""
        return Location(
            key=StateKey.at(self.track, self.team, self.visit, path),
            step=StepKey.of(self.team, path),
            track=self.track,
            team=self.team,
            visit=self.visit,
            frame_key=self.frame_key,
            path=path,
            personas=self.personas,
            loop=self.loop,
            drafts=self.drafts,
            enclosing_tools=self.enclosing_tools,
        )

    def own_frame(self, persona: str) -> "Location":
        """Return this location as the root of a persona's plan, with a frame of its own."""
        return self._replace(frame_key=self.key, personas=(*self.personas, persona))

    def within_tool(self, name: str) -> "Location":
        """Return this location as that of the work within a call of an agent or a team."""
        return self._replace(enclosing_tools=(*self.enclosing_tools, name))

    def branched(self, name: str, scope: Scope) -> "Location":
        """Return this location with a copy of its frame, for one of several concurrent branches.

        The branches share the values themselves: no code changes a value in place. What a
        branch writes to the context is a draft until the branches join.
        """
        key = self.key.frame_of(name)
        if key not in scope.state.frames:
            scope.state.frames[key] = self.frame(scope).copy()
        return self._replace(frame_key=key, drafts=(*self.drafts, key))

    def drafted(self) -> "Location":
        """Return this location with a draft of its own, for attempts that may fail."""
        return self._replace(drafts=(*self.drafts, self.key))

    def context(self, scope: Scope) -> Json:
        """Return the run's context as a step here sees it: with its drafts."""
        context = scope.state.tracks[self.track].context
        for key in self.drafts:
            draft = scope.state.progress.drafts.get(key)
            if draft is not None:
                context = draft.over(context, scope.plan.context)
        return context

    @property
    def name(self) -> str:
        """The last part of the path: the step's own name."""
        return self.path.rpartition("/")[2]

    def frame(self, scope: Scope) -> Frame:
        """Return the frame, new or carried over."""
        frames = scope.state.frames
        frame = frames.get(self.frame_key)
        if frame is None:
            frame = frames[self.frame_key] = Frame()
        return frame

    def facts(self, scope: Scope) -> Facts:
        """Return what templates and conditions see from here."""
        state = scope.state
        track = state.tracks[self.track]
        frame = self.frame(scope)
        return Facts(
            context=self.context(scope) if self.drafts else track.context,
            tasks=frame.tasks,
            teams=track.latest,
            run={
                "id": scope.run_id,
                "plan": scope.plan.name,
                "digest": scope.plan.digest,
                "team": self.team,
                "visit": self.visit,
                "teams_run": state.teams_run,
            },
            routing=track.routed.seen(),
            variables=frame.variables,
            input=frame.input,
            budget=scope.plan.evaluation,
            work=scope.work,
            settings=scope.plan.settings,
            tools=scope.plan.listed_tools,
        )


def facts_at_end(scope: Scope, track: Track, tasks: Outcomes) -> Facts:
    """Return the facts of a track that has ended, without the variables of its visits."""
    state = scope.state
    team = track.routed.from_team or ""
    return Facts(
        context=track.context,
        tasks=tasks,
        teams=track.latest,
        run={
            "id": scope.run_id,
            "plan": scope.plan.name,
            "digest": scope.plan.digest,
            "team": team,
            "visit": state.visits.get(team, 0),
            "teams_run": state.teams_run,
        },
        routing=track.routed.seen(),
        budget=scope.plan.evaluation,
        work=scope.work,
        settings=scope.plan.settings,
        tools=scope.plan.listed_tools,
    )


class Interpreter(Protocol):
    """Runs the nested steps and teams of a step."""

    async def run_steps(
        self, steps: Sequence[Step], location: Location, *, part: str = "", stop: bool = True
    ) -> Outcome:
        """Run the steps in order, from where the state left the list."""
        ...

    async def follow(self, track: StateKey) -> None:
        """Follow a track from team to team until its end."""
        ...

    def persona(self, step: PersonaStep) -> Persona:
        """Return the persona as the agent receives it."""
        ...

    async def run_agent(self, step: PersonaStep, location: Location, given: JsonValue) -> Outcome:
        """Run an agent with an input that is already rendered."""
        ...


class Redirected(Exception):
    """The run leaves the current team for another, instead of following its routes."""

    def __init__(self, team: str, cause: RouteCause) -> None:
        self.team = team
        self.cause: RouteCause = cause
        super().__init__(team)


class RunLeft(LimitExceeded):
    """The run leaves everything in progress, for another team or for its end."""

    def __init__(self, team: str | None, cause: RouteCause) -> None:
        self.team = team
        self.cause: RouteCause = cause
        super().__init__(route_because(cause), limit="budget", allowed=0)


class Skipped(Exception):
    """A person skipped the current step."""

    def __init__(self, value: JsonValue) -> None:
        self.value = value
        super().__init__("a step was skipped")


class Returned(Exception):
    """A `return` step ended its plan, or its team's tasks, with this value."""

    def __init__(self, value: JsonValue) -> None:
        self.value = value
        super().__init__("a plan returned")
