"""Draw what the models of agents with tools did in a run: turns and calls, by tool."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from coterie.graph.tasks import TaskLine
from coterie.text.problems import counted
from coterie.workflows.core.causes.agent_causes import ModelTurned
from coterie.workflows.core.views import TrailEntry

AgentKey = tuple[str, str]
"""Team, and path of the step."""
MAX_TOOLS = 8
"""Tools that an agent's box shows; the last line counts the rest."""


@dataclass(slots=True)
class AgentCalls:
    """What an agent with tools did in the latest visit of its team."""

    turns: int = 0
    calls: Counter[str] = field(default_factory=Counter[str])
    """By tool, in the order of their first calls."""
    failed: Counter[str] = field(default_factory=Counter[str])

    def lines(self, agent: TaskLine) -> Iterator[TaskLine]:
        """Yield a line for each tool, below the agent's own."""
        shown = list(self.calls.items())
        for tool, calls in shown[:MAX_TOOLS]:
            detail = counted(calls, "call")
            if self.failed[tool]:
                detail += f", {self.failed[tool]} failed"
            yield TaskLine(f"{agent.path}/{tool}", agent.depth + 1, "tool", tool, (detail,))
        rest = shown[MAX_TOOLS:]
        if rest:
            calls = counted(sum(number for _, number in rest), "call")
            words = f"{calls} of {counted(len(rest), 'other tool')}"
            yield TaskLine("", agent.depth + 1, None, words, ())


def note_calls(known: dict[AgentKey, AgentCalls], entry: TrailEntry, path: str) -> None:
    """Count a turn, or a call that failed.

    Args:
        known: The counts so far.
        entry: A trail entry about a step.
        path: The path of the step, as in the picture.
    """
    if isinstance(entry.cause, ModelTurned):
        agent = known.setdefault((entry.team, path), AgentCalls())
        agent.turns += 1
        agent.calls.update(entry.cause.calls)
    elif entry.status == "failure":
        above, _, tool = path.rpartition("/")
        agent = known.get((entry.team, above))
        if agent is not None:
            agent.failed[tool] += 1


def with_calls(
    tasks: tuple[TaskLine, ...], team: str, calls: Mapping[AgentKey, AgentCalls]
) -> tuple[TaskLine, ...]:
    """Add the turns and the calls of a team's agents to its lines."""
    if not any(of == team for of, _ in calls):
        return tasks
    lines: list[TaskLine] = []
    for task in tasks:
        agent = calls.get((team, task.path)) if task.path else None
        if agent is None:
            lines.append(task)
            continue
        lines.append(replace(task, detail=(counted(agent.turns, "turn"), *task.detail)))
        lines.extend(agent.lines(task))
    return tuple(lines)
