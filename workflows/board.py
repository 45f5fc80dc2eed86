"""The live board: what the Temporal UI shows of a run while it runs. Markdown, small."""

from datetime import UTC, datetime
from typing import Literal

from dsl.plan import Plan
from workflows.messages import Activity, RunStatus
from workflows.state import RunState


def status(plan: Plan | None, state: RunState, *, done: bool) -> RunStatus:
    """The answer of the query `status`."""
    return RunStatus(
        plan=plan.name if plan else "",
        digest=plan.digest if plan else "",
        state=_state(state, done=done),
        paused=state.paused,
        team=state.main.team,
        visit=state.main.visit or None,
        doing=tuple(Activity(step=step, since=_clock(at)) for step, at in state.doing.items()),
        waiting_for=tuple(state.pending),
        teams_run=state.teams_run,
        max_total_teams=plan.limits.max_total_teams if plan else 0,
        visits=state.visits,
        model_calls=state.model_calls,
        skill_calls=state.skill_calls,
        usage=state.usage,
        last_because=state.main.routed.because,
        events=state.trail_length,
    )


def _state(state: RunState, *, done: bool) -> Literal["running", "waiting", "paused", "done"]:
    if done:
        return "done"
    if state.paused is not None:
        return "paused"
    return "waiting" if state.pending else "running"


def board(plan: Plan, state: RunState) -> str:
    """Where the run is, what it does, whom it waits for, why it came here."""
    lines = [
        f"**{plan.name}**: team **{state.main.team}**, visit {state.main.visit} "
        f"({state.teams_run} of {plan.limits.max_total_teams} team visits)",
        "",
    ]
    if state.paused is not None:
        lines.append(f"- **paused** by {state.paused.by}: {state.paused.why}")
    lines += [f"- doing `{step}` since {_clock(at)}" for step, at in state.doing.items()]
    lines += [f"- **waits for a person**: `{waiting.id}`: {waiting.prompt}" for waiting in
              state.pending.values()]  # fmt: skip
    tokens = state.usage.input_tokens + state.usage.output_tokens
    lines += [
        f"- came here because: {state.main.routed.because}",
        f"- {state.model_calls} model calls, {state.skill_calls} skill calls, {tokens} tokens",
    ]
    return "\n".join(lines)


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
