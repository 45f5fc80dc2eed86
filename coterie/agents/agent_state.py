"""How far the run of an agent is: the state that a program sees, and its events."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from pydantic import JsonValue

from coterie.dsl.model.retryability import DECIDED
from coterie.dsl.tool_loop.call_names import call_name, without_calls
from coterie.dsl.tool_loop.tool_loop_progress import CallsHandedBack, OpenCall
from coterie.dsl.values import Json
from coterie.workflows.core.causes.agent_causes import ModelTurned, ToolCalled
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.state import RunState, TrailRecord

AgentStatus = Literal["running", "paused", "completed", "failed"]

Route = Literal["execute", "generate", "max_iterations"]
"""Where a model turn leads: to calls of tools, to the answer, or to the answer because no turns are
left."""


CallStatus = Literal["running", "success", "failure", "refused", "rejected", "skipped", "cancelled"]
"""How far a call is. `refused`: by the rules of the tool loop, so it never ran; `rejected`: by a
person; `cancelled`: the run ended first."""


class RouterDecision(NamedTuple):
    """What the model decided in its latest turn."""

    route: Route
    tools: tuple[str, ...] = ()
    """The tools that it calls, in the order of the calls."""


class ToolExecution(NamedTuple):
    """One call of a tool."""

    tool: str
    arguments: Json
    result: str | None
    """What the model got; None while the call is open."""
    status: CallStatus
    failed: bool
    """Whether it has ended without a result: `failure`, `refused`, `rejected` or `cancelled`."""
    seconds: float | None
    """None while the call is open."""
    step: str
    """Which call of which agent: `planner/weather@2.1`: call 1 of turn 2."""


class AgentEvent(NamedTuple):
    """One event of a run."""

    name: str
    """`tool_start`, `tool_end`, `routing`, `cache_hit`, ..., or the kind of entry in the trail."""
    step: str
    tool: str | None
    """The tool that is called."""
    status: str | None
    because: str
    seconds: float | None


class AgentState(NamedTuple):
    """The state of a run, as a snapshot."""

    status: AgentStatus
    iteration: int
    """Model turns of the agent so far, without those of its subagents."""
    max_iterations: int
    router_decision: RouterDecision | None
    """None before the first turn, and for an agent without tools."""
    tool_history: tuple[ToolExecution, ...]
    """All calls that models asked for, in the order of their turns, also those that never ran."""
    pause_reason: str | None
    """What a person is asked, while the run is paused."""
    data: JsonValue = None
    """The agent's answer: `{"text": ...}`, or by its output_schema."""
    error: str | None = None
    error_type: str | None = None
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None when no call has a price."""

    @property
    def text(self) -> str:
        """The answer as a text; empty if there is none."""
        return _text_of(self.data)


class AgentAnswer(NamedTuple):
    """How a run on a server ended; the fields mean what they mean in an AgentState."""

    status: Literal["completed", "failed"]
    data: JsonValue
    error: str | None
    error_type: str | None
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None

    @property
    def text(self) -> str:
        """The answer as a text; empty if there is none."""
        return _text_of(self.data)


def _text_of(data: JsonValue) -> str:
    text = data.get("text") if isinstance(data, dict) else data
    return text if isinstance(text, str) else ""


def route_after_router(turn: ModelTurned) -> Route:
    """Return where a model turn leads."""
    if turn.code == "turn_called":
        return "execute"
    return "max_iterations" if turn.last else "generate"


class WatchedState(RunState):
    """The state of a run in this process; tells what happens while it happens."""

    def observe(self, observer: "RunObserver") -> None:
        """Report each entry of the trail to the observer from now on."""
        self._observer = observer

    def note(self, entry: TrailRecord, fingerprint: str = "") -> None:
        """Add to the trail, and report it."""
        super().note(entry, fingerprint)
        self._observer.take(entry, self)


class RunObserver:
    """Collects what a program sees of a run from the entries of its trail."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self.on_event: Callable[[], None] = lambda: None
        self.events: list[AgentEvent] = []
        self.turns = 0
        self.decision: RouterDecision | None = None
        self._calls: dict[str, OpenCall] = {}
        self._ended: dict[str, TrailRecord] = {}
        """`{path of a call: the entry of its end}`."""
        self._called: dict[str, str] = {}
        """`{path of a tool step: its tool}`."""

    def take(self, entry: TrailRecord, state: RunState) -> None:
        """Take the next entry of the trail."""
        path = entry.step or ""
        if entry.event == "routing":
            self._calls.update(_calls_of_turn(entry, state))
        elif entry.event == "tool_end":
            self._ended[path] = entry
        if isinstance(entry.cause, ModelTurned) and path == self._agent:
            self.turns = max(self.turns, entry.cause.number)
            self.decision = RouterDecision(route_after_router(entry.cause), entry.cause.calls)
        self.events.append(self._event(entry))
        self.on_event()

    def _event(self, entry: TrailRecord) -> AgentEvent:
        path = entry.step or ""
        last = path.rpartition("/")[2]
        tool = without_calls(last)
        if isinstance(entry.cause, ToolCalled):
            self._called[path] = entry.cause.tool
        return AgentEvent(
            name=entry.event or entry.kind,
            step=path,
            tool=tool if tool != last else self._called.get(path),
            status=entry.status,
            because=entry.because,
            seconds=entry.seconds,
        )

    def history(self, *, running: bool) -> tuple[ToolExecution, ...]:
        """Return the calls so far; none is open in a run that is not `running`."""
        return tuple(self._execution(step, call, running) for step, call in self._calls.items())

    def _execution(self, step: str, call: OpenCall, running: bool) -> ToolExecution:
        ended = self._ended.get(step)
        status = _status_of(call, ended, running)
        return ToolExecution(
            tool=call.tool,
            arguments=call.arguments,
            result=None if call.result is None else call.result.text,
            status=status,
            failed=status in _FAILED,
            seconds=None if ended is None else ended.seconds,
            step=step,
        )


_FAILED: tuple[CallStatus, ...] = ("failure", "refused", "rejected", "cancelled")


def _status_of(call: OpenCall, ended: TrailRecord | None, running: bool) -> CallStatus:
    if call.refusal is not None:
        return "refused"
    if ended is None:
        return "running" if running else "cancelled"
    if isinstance(ended.cause, Failed) and ended.cause.failure.type in DECIDED:
        return "rejected"
    if ended.status == "skipped":
        return "skipped"
    return "failure" if call.result is None or call.result.failed else "success"


def _calls_of_turn(entry: TrailRecord, state: RunState) -> dict[str, OpenCall]:
    """Return the calls of the turn that an entry is about, as the loop of its agent keeps them."""
    ending = f"#{entry.visit}/{entry.step}"
    for key, progress in state.progress.tool_loops.items():
        loop = progress.loop
        if key.endswith(ending) and not isinstance(loop.end, CallsHandedBack):
            number = loop.turns + loop.reasks
            return {
                f"{entry.step}/{call_name(call.tool, number, index)}": call
                for index, call in enumerate(loop.calls, 1)
            }
    return {}
