"""The live board: what the Temporal UI shows of a run while it runs. Markdown, small.

Its task graphs and concurrent loops are in the query `status` as well.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice

from coterie.dsl.markdown import code, plain
from coterie.dsl.model.budgets import share
from coterie.dsl.model.plan import Plan
from coterie.dsl.task_graph.graph_tasks import GraphTask, most_relevant
from coterie.dsl.task_graph.task_because import task_because
from coterie.dsl.task_graph.task_schedule import pending_cause
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.tool_loop.call_names import call_name
from coterie.dsl.visible import shortened_text
from coterie.workflows.budgets.balances import limit_of
from coterie.workflows.budgets.costs import uses
from coterie.workflows.core.progress.progress_kinds import ConcurrentLoopProgress, TaskGraphProgress
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey, StepKey
from coterie.workflows.core.state_parts import Track
from coterie.workflows.core.usage import estimated_calls, total_cost
from coterie.workflows.core.views import (
    GraphTaskView,
    PushReceiver,
    RoundsView,
    RunStatus,
    Standing,
    StepInProgress,
    TaskGraphView,
)
from coterie.workflows.sessions.message_queue import counted_visits

_MAX_LOOPS = 10


def round_views(state: RunState) -> tuple[RoundsView, ...]:
    """Return how many rounds of each concurrent loop have which state."""
    loops = islice(state.progress.concurrent_loops.items(), _MAX_LOOPS)
    return tuple(_rounds_view(StateKey(key).step, progress, state) for key, progress in loops)


def _rounds_view(step: StepKey, progress: ConcurrentLoopProgress, state: RunState) -> RoundsView:
    counts = Counter[str](outcome.status for outcome in progress.ended.values())
    waiting, running = _open_rounds(step, state)
    counts["waiting"], counts["running"] = waiting, running
    counts["pending"] = progress.rounds - counts.total()
    return RoundsView(
        step=step, rounds=progress.rounds, counts={of: n for of, n in counts.items() if n > 0}
    )


def _open_rounds(step: StepKey, state: RunState) -> tuple[int, int]:
    """Return how many rounds wait for a person, and how many others are in progress."""
    waiting = _numbers(step, state.pending)
    return len(waiting), len(_numbers(step, state.doing) - waiting)


def _numbers(step: StepKey, keys: Iterable[str]) -> set[str]:
    """Return the numbers of the rounds that the keys belong to."""
    start = len(step) + 1
    return {key[start:].partition("/")[0] for key in keys if step.holds(key)}


def round_lines(state: RunState) -> str:
    """Return a line of Markdown for each concurrent loop."""
    lines: list[str] = []
    for key, progress in islice(state.progress.concurrent_loops.items(), _MAX_LOOPS):
        step = StateKey(key).step
        waiting, running = _open_rounds(step, state)
        waits = f", {waiting} waiting for a person" if waiting else ""
        lines.append(
            f"- rounds of {code(step)}: {len(progress.ended)} of {progress.rounds} ended, "
            f"{running} running{waits}\n"
        )
    return "".join(lines)


_MAX_GRAPHS = 5
_MAX_TASKS = 50
_MAX_NAMED = 5
_MAX_BECAUSE_LENGTH = 300


def graph_views(state: RunState) -> tuple[TaskGraphView, ...]:
    """Return the task graphs in progress, each with the tasks that matter most."""
    graphs = islice(state.progress.task_graphs.items(), _MAX_GRAPHS)
    return tuple(_view(StateKey(key).step, progress) for key, progress in graphs)


def _view(step: StepKey, progress: TaskGraphProgress) -> TaskGraphView:
    tasks = progress.tasks
    order = most_relevant(tasks, _MAX_TASKS)
    tasks_by_id = {task.id: task for task in tasks}
    return TaskGraphView(
        step=step,
        counts={status: number for status, number in progress.counts.items() if number},
        tasks=tuple(_task(tasks[index], tasks_by_id) for index in order),
        left_out=len(tasks) - len(order),
    )


def _task(task: GraphTask, tasks_by_id: dict[str, GraphTask]) -> GraphTaskView:
    because = task_because(task.cause or pending_cause(task, tasks_by_id.__getitem__))
    return GraphTaskView(
        id=task.id, status=task.status, because=shortened_text(because, _MAX_BECAUSE_LENGTH)
    )


def graph_lines(state: RunState) -> str:
    """Return a line of Markdown for each task graph: how many tasks have which status."""
    return "".join(
        f"- tasks of {code(StateKey(key).step)}: {_counts(progress)}{_running(progress)}\n"
        for key, progress in islice(state.progress.task_graphs.items(), _MAX_GRAPHS)
    )


def _counts(progress: TaskGraphProgress) -> str:
    return ", ".join(
        f"{number} {status.replace('_', ' ')}"
        for status, number in progress.counts.items()
        if number
    )


def _running(progress: TaskGraphProgress) -> str:
    names = [
        plain(progress.tasks[int(number)].id) for number in islice(progress.running, _MAX_NAMED)
    ]
    return f" ({', '.join(names)})" if names else ""


_MAX_LINES = 10
"""Maximum lines of a kind: a thousand concurrent branches would write a thousand lines."""

_MAX_REASON_LENGTH = 2_000
"""Characters of a reason; the trail has the whole reason."""

_MAX_ARGUMENTS_LENGTH = 300
"""Characters of the arguments of a call; a history has all of them."""

_MAX_ACTIVITIES = 200
_MAX_CALLS = 20
"""Calls whose arguments a status has: it stays small, however many there are."""


def status(plan: Plan | None, state: RunState, *, done: bool) -> RunStatus:
    """Answer the query `status`."""
    cost, unpriced = total_cost(state)
    paused = state.paused
    turns, arguments = _turns(state), _arguments(state)
    return RunStatus(
        plan=plan.name if plan else "",
        digest=plan.digest if plan else "",
        version=state.version,
        state=state_of(state, done=done),
        paused=paused and paused.model_copy(update={"why": _cut(paused.why)}),
        team=state.main.team,
        visit=state.main.visit or None,
        doing=tuple(
            StepInProgress(
                step=step,
                since=_clock(at, "milliseconds"),
                turn=turns.get(step),
                arguments=arguments.get(step),
            )
            for step, at in state.doing.items()
        ),
        calls=dict(islice(state.calls_in_progress.items(), _MAX_ACTIVITIES)),
        graphs=graph_views(state),
        loops=round_views(state),
        waiting_for=tuple(state.pending),
        teams_run=state.teams_run,
        max_total_teams=plan.limits.max_total_teams if plan else 0,
        visits_counted=counted_visits(state)[0],
        messages=state.session.total,
        visits=state.visits,
        model_calls=state.model_calls,
        function_calls=state.function_calls,
        usage=state.usage,
        cost=cost,
        unpriced=unpriced,
        estimated=estimated_calls(state),
        budgets=uses(plan, state),
        last_because=_cut(state.main.routed.because),
        events=state.trail_length,
        trail_digest=state.trail_digest,
        push=tuple(
            PushReceiver(id=one.id, url=one.url, context=one.context)
            for one in state.push.by_id.values()
        ),
        authority=state.authority,
    )


def state_of(state: RunState, *, done: bool) -> Standing:
    """Return what a run does, in one word."""
    if state.stop_by is not None:
        return "cancelled" if done else "stopping"
    if done:
        return "done"
    if state.paused is not None:
        return "paused"
    return "waiting" if state.pending else "running"


def board(plan: Plan, state: RunState) -> str:
    """Render where the run is, what it does, whom it waits for, and why it is here."""
    main, usage = state.main, state.usage
    paused = state.paused
    held = ""
    if paused is not None:
        held = f"- **paused** by {plain(paused.by)}: {plain(_cut(paused.why))}\n"
    turns = _turns(state) if state.progress.tool_loops else {}
    doing = "".join(
        [
            f"- doing {code(step)}{f', turn {turns[step]},' if step in turns else ''} "
            f"since {_clock(at)}\n"
            for step, at in islice(state.doing.items(), _MAX_LINES)
        ]
    )
    if state.progress.task_graphs:
        doing += graph_lines(state)
    if state.progress.concurrent_loops:
        doing = round_lines(state) + doing
    waits = (
        "".join(
            [
                f"- **waits for a person**: {code(request.id)}: {plain(_cut(request.prompt))}\n"
                for request in islice(state.pending.values(), _MAX_LINES)
            ]
        )
        if state.pending
        else ""
    )
    if len(state.doing) > _MAX_LINES:
        doing += f"- and {len(state.doing) - _MAX_LINES} more steps\n"
    if len(state.pending) > _MAX_LINES:
        waits += f"- and for {len(state.pending) - _MAX_LINES} more decisions\n"
    at = f"team **{plain(main.team or '')}**, visit {main.visit}" if main.visit else _between(main)
    return (
        f"**{plain(plan.name)}**: {at} "
        f"({counted_visits(state)[0]} of {plan.limits.max_total_teams} team visits)\n\n"
        f"{held}{doing}{waits}{_session(plan, state)}"
        f"- came here because: {plain(_cut(main.routed.because))}\n"
        f"- {state.model_calls} model calls, {state.function_calls} function calls, "
        f"{usage.input_tokens + usage.output_tokens} tokens"
        f"{' (estimated)' if estimated_calls(state) else ''}{_budgets(plan, state)}"
    )


def _turns(state: RunState) -> dict[str, int]:
    """Return `{step: model turns so far}` of the agents that use tools."""
    return {
        StateKey(key).step: progress.loop.turns + progress.loop.reasks
        for key, progress in state.progress.tool_loops.items()
    }


def _arguments(state: RunState) -> dict[str, str]:
    """Return `{step: the beginning of its arguments}` of the calls of models in progress."""
    summaries: dict[str, str] = {}
    for key, progress in state.progress.tool_loops.items():
        step, turn = StateKey(key).step, progress.loop.turns + progress.loop.reasks
        for number, call in enumerate(progress.loop.calls, 1):
            name = f"{step}/{call_name(call.tool, turn, number)}"
            if call.result is None and name in state.doing:
                if len(summaries) == _MAX_CALLS:
                    return summaries
                summaries[name] = brief(call.arguments, _MAX_ARGUMENTS_LENGTH)
    return summaries


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_REASON_LENGTH else f"{text[:_MAX_REASON_LENGTH]}..."


def _session(plan: Plan, state: RunState) -> str:
    """How many messages a session has had, and which of them wait."""
    session = state.session
    if not session.total:
        return ""
    waiting = f", {len(session.queue)} waiting" if session.queue else ""
    return f"- message {session.total} of {plan.limits.max_messages}{waiting}\n"


def _between(main: Track) -> str:
    """Return where a run is that is between two teams."""
    if main.fan_out is not None:
        return f"branches {', '.join(f'**{plain(name)}**' for name in main.fan_out.branches)}"
    return "at its end" if main.team is None else f"team **{plain(main.team)}** is next"


def _budgets(plan: Plan, state: RunState) -> str:
    """Return a line for each budget that some call was paid from."""
    return "".join(
        [
            f"\n- {plain(budget.description)}: "
            + share(
                budget.kind, balance.used, limit_of(budget, balance), estimated=balance.estimated
            )
            + (" (nearly used up)" if balance.warned else "")
            for budget in plan.budgets
            if (balance := state.balances.get(budget.id)) is not None
        ]
    )


def _clock(at: float, timespec: str = "seconds") -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec=timespec)
