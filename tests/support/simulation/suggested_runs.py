"""Runs whose server suggests to continue as new in one workflow task after another."""

from collections.abc import Callable, Iterator, Sequence

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.activities.contracts.model_turn import AgentError, StartedBatch
from coterie.dsl.model.plan import Plan
from coterie.dsl.tool_loop.exchange import ToolCallRequest
from tests.support.simulation.simulated_server import (
    Lived,
    Message,
    SimulatedServer,
    Task,
    never,
)

MOVES = (2, 3, 5)
"""Workflow tasks after which each history of a run is full."""


def answer(request: AgentRequest | FunctionRequest) -> tuple[float, AgentResponse | FunctionResult]:
    """Answer a call: 0.8 s for a model, half of one for a tool function; names say what else."""
    if isinstance(request, FunctionRequest):
        return 0.5, FunctionResult(data=["a", "b"])
    return seconds_of(request), model_answer(request)


def seconds_of(request: AgentRequest) -> float:
    """Return what a model call takes: `call_7` takes 7 seconds."""
    _, _, number = request.task.rpartition("_")
    return float(number) if number.isdigit() else 0.8


def model_answer(request: AgentRequest) -> AgentResponse:
    """Answer a model turn as its task's name says."""
    task, turn, talk = request.task, request.tool_turn, request.conversation
    head = None if talk is None else f"{talk.head or task}+"
    if request.started is not None:
        if request.started.unwanted or request.started.waited > 100:
            return AgentResponse(data={"text": task}, conversation=head)
        return AgentResponse(in_progress=request.started)
    if request.persona is not None and request.persona.batch:
        return AgentResponse(in_progress=StartedBatch(id=task, custom_id=task))
    if turn is not None and (head or "").count("+") < 3:
        calls = {"asks": ("sign",), "finds": ("look", "helper")}[task]
        wanted = tuple(ToolCallRequest(tool=tool) for tool in calls)
        return AgentResponse(tool_calls=wanted, conversation=head)
    if task.startswith(("fails", "down")):
        kind = "ProviderUnavailable" if task == "down" else "AgentFailed"
        error = AgentError(type=kind, message="on purpose")
        return AgentResponse(success=False, error=error)
    return AgentResponse(data={"text": task}, conversation=head)


def lived(
    plan: Plan,
    messages: Sequence[Message] = (),
    suggests: Callable[[Task], bool] = never,
    *,
    earlier_events: int = 0,
) -> Lived:
    """Run a plan with the answers of this module."""
    return SimulatedServer(answer, messages, suggests, earlier_events=earlier_events).run(plan)


def suggestions(tasks: int) -> Iterator[tuple[str, Callable[[Task], bool]]]:
    """Yield when a server suggests: once, in each of so many tasks, and in every history."""
    for number in range(1, tasks + 1):
        yield (
            f"in workflow task {number}",
            lambda task, number=number: task.part == 1 and task.number >= number,
        )
    for moves in MOVES:
        yield f"every {moves} workflow tasks", lambda task, moves=moves: task.in_part >= moves


def differences(one: Lived, other: Lived) -> list[str]:
    """Return in what two runs differ that should have gone alike."""
    alike, also = _facts(one), _facts(other)
    return [f"{name}: {alike[name]} / {also[name]}" for name in alike if alike[name] != also[name]]


def _facts(run: Lived) -> dict[str, object]:
    """Return what a run did; what concurrent branches do in the same instant has no order."""
    result = run.result if isinstance(run.result, dict) else {}
    return {
        "result": {key: value for key, value in result.items() if key != "trail_digest"},
        "failure": run.failure,
        "calls": run.effects,
        # an amendment applies before the next step, or where the run comes back to one
        "trail": sorted(entry for entry in run.trail if " amended " not in entry[1]),
        "seconds": run.seconds,
        "open at the end": run.open_at_end,
        "replies": run.replies,
    }
