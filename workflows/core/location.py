"""Place: where in a run a step stands, and what is seen from there."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from dsl.errors import LimitExceeded
from dsl.evaluate.because import route_because
from dsl.model.causes import RouteCause
from dsl.model.facts import Facts
from dsl.model.outcomes import Outcome
from dsl.model.plan import Persona
from dsl.model.steps import AgentStep, Step
from workflows.core.memory import Frame, Noted, StepProgress
from workflows.core.scope import Scope
from workflows.core.trail_causes import TrailCause
from workflows.core.views import CollectedFiles, TrailKind


class Location(NamedTuple):
    """A step's surroundings: track, team, visit, the frame that it writes to, its path.

    A tuple, since the sandbox makes each class anew for each run, and a dataclass takes longer.
    """

    track: str
    team: str
    visit: int
    frame_path: str
    path: str
    """`coder/process_changes_loop/apply_change`; empty for the team itself."""
    personas: tuple[str, ...] = ()
    """Whose execution plans these are, outermost first."""
    loop: str | None = None
    """The block of the innermost loop that notices calls which repeat."""

    def at(self, name: str) -> "Location":
        """The place of a step within this one."""
        track, team, visit, frame_path, above, personas, loop = self
        path = f"{above}/{name}" if above else name
        return Location(track, team, visit, frame_path, path, personas, loop)

    def own_frame(self, persona: str) -> "Location":
        """This place as the root of a persona's plan, with a frame of its own."""
        return self._replace(frame_path=self.key, personas=(*self.personas, persona))

    def branched(self, name: str, scope: Scope) -> "Location":
        """This place with a frame that begins as a copy, for one of several ways at once.

        The values themselves are shared: nothing changes one in its place.
        """
        path = f"{self.key}|{name}"
        if path not in scope.state.frames:
            frame = self.frame(scope)
            scope.state.frames[path] = Frame(dict(frame.tasks), dict(frame.variables), frame.input)
        return self._replace(frame_path=path)

    @property
    def name(self) -> str:
        """The last part of the path: the step's own name."""
        return self.path.rpartition("/")[2]

    @property
    def key(self) -> str:
        """What the blocks and frames at and below this place begin with."""
        return f"{self.track}:{self.team}#{self.visit}/{self.path}"

    def frame(self, scope: Scope) -> Frame:
        """The frame, made anew or carried over."""
        frames = scope.state.frames
        frame = frames.get(self.frame_path)
        if frame is None:
            frame = frames[self.frame_path] = Frame()
        return frame

    def block(self, scope: Scope, part: str = "") -> StepProgress:
        """How far the block at this place has come."""
        blocks, key = scope.state.blocks, self.block_key(part)
        block = blocks.get(key)
        if block is None:
            block = blocks[key] = StepProgress()
        return block

    def block_key(self, part: str = "") -> str:
        """The key of the block at this place."""
        return f"{self.track}:{self.team}#{self.visit}/{self.path}:{part}"

    def close_block(self, scope: Scope, part: str = "") -> None:
        """Forget the block at this place: it is finished."""
        scope.state.blocks.pop(self.block_key(part), None)

    def facts(self, scope: Scope) -> Facts:
        """What templates and conditions see from here."""
        state = scope.state
        track = state.tracks[self.track]
        frame = self.frame(scope)
        return Facts(
            context=track.context,
            tasks=frame.tasks,
            teams=track.latest,
            run={
                "id": scope.run_id,
                "plan": scope.plan.name,
                "team": self.team,
                "visit": self.visit,
                "teams_run": state.teams_run,
            },
            routing=track.routed.seen(),
            variables=frame.variables,
            input=frame.input,
            budget=scope.plan.evaluation,
            work=scope.work,
        )

    def note(
        self,
        scope: Scope,
        kind: TrailKind,
        cause: TrailCause | None = None,
        *,
        status: str | None = None,
        next_team: str | None = None,
        updated: tuple[str, ...] = (),
        fingerprint: str = "",
        since: float | None = None,
        tokens: int | None = None,
        found: CollectedFiles | None = None,
    ) -> None:
        """Add an entry to the run's trail; `since` is the clock when it began, in seconds."""
        now = scope.time()
        state = scope.state
        entry = Noted(
            state.trail_length + 1,
            now,
            kind,
            self.team,
            self.visit,
            self.path or None,
            status,
            cause,
            next_team,
            updated,
            None if since is None else round(now - since, 3),
            tokens,
            found,
        )
        state.note(entry, fingerprint)


class Interpreter(Protocol):
    """What kinds that hold other steps, or name another team, run them with."""

    async def run_steps(
        self, steps: Sequence[Step], place: Location, *, part: str = "", stop: bool = True
    ) -> Outcome:
        """Run the steps in order, from where the block stands."""
        ...

    async def follow(self, track: str) -> None:
        """Follow a track from team to team until its end."""
        ...

    def persona(self, step: AgentStep) -> Persona:
        """The persona as this agent is sent it."""
        ...


class Redirected(Exception):
    """The current team is left for another one, whatever its routes say."""

    def __init__(self, team: str, cause: RouteCause) -> None:
        self.team = team
        self.cause: RouteCause = cause
        super().__init__(team)


class RunLeft(LimitExceeded):
    """All that the run is in the middle of is left: for another team, or for its end."""

    def __init__(self, team: str | None, cause: RouteCause) -> None:
        self.team = team
        self.cause: RouteCause = cause
        super().__init__(route_because(cause), limit="budget", allowed=0)


class Skipped(Exception):
    """A person left the current step out, whatever it was doing."""

    def __init__(self, value: JsonValue) -> None:
        self.value = value
        super().__init__("a step was skipped")


class Returned(Exception):
    """A `return` step ended its plan, or its team's tasks, with this value."""

    def __init__(self, value: JsonValue) -> None:
        self.value = value
        super().__init__("a plan returned")
