"""What an agent that is a tool reads of other tools' work: the memory graph of a plan.

Work is published when its call is accepted: a rejected or failed call publishes nothing. A call
that answers the same anew takes the place of the earlier one.
"""

import json

from pydantic import JsonValue

from coterie.dsl.json_values import json_digest
from coterie.dsl.model.outcomes import Outcome, with_text
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.tool_contract import AgentTool, is_stateful
from coterie.dsl.visible import shortened_text
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import PublishedWork
from coterie.workflows.core.scope import Scope

_MAX_TEXT = 4_000
"""Characters of one published text."""

_MAX_KEPT = 20
"""Texts of one tool that a run keeps; it forgets the oldest."""


def hand_over_work(tool: AgentTool, location: Location, scope: Scope) -> None:
    """Let the agent at a location read what its tool's `reads` name, in written order."""
    published = scope.state.published
    notes = [
        f"[From {edge.source}: {work.text}]"
        for edge in tool.reads
        for work in published.get(edge.source, [])
        if work.kind == "final" or edge.publish == "tool_result"
    ]
    if notes:
        scope.state.progress.shared_work[location.key] = notes


def shared_work(location: Location, scope: Scope) -> tuple[str, ...]:
    """Return what the agent at a location reads of others' work."""
    shared = scope.state.progress.shared_work
    return tuple(shared.get(location.key, ())) if shared else ()


def is_read(name: str, plan: Plan, *, results: bool = False) -> bool:
    """Return whether another tool reads a tool's work, or the results of its own tools."""
    return any(
        edge.source == name and (edge.publish == "tool_result" or not results)
        for tool in plan.tools.values()
        if isinstance(tool, AgentTool)
        for edge in tool.reads
    )


def note_tool_result(tool: str, outcome: Outcome, agent: Location, scope: Scope) -> None:
    """Keep the result of a call until the call of the agent that made it is accepted."""
    texts = scope.state.progress.unpublished.setdefault(agent.key, [])
    text = with_text(_text(outcome.data), outcome)
    texts.append(shortened_text(f"{tool}: {text}", _MAX_TEXT))
    del texts[:-_MAX_KEPT]


def has_result(outcome: Outcome) -> bool:
    """Return whether a call has a result: it succeeded, or a person skipped it and gave one."""
    return outcome.success or (outcome.status == "skipped" and outcome.data is not None)


def publish_work(
    name: str, given: JsonValue, outcome: Outcome, location: Location, scope: Scope
) -> None:
    """Publish the work of an accepted call, or drop that of another.

    The result that a person gives replaces the work of the call that it skips. Calls with equal
    arguments are one piece of work, and so are all calls of an agent with one conversation.
    """
    state = scope.state
    unpublished = state.progress.unpublished.pop(location.key, [])
    state.progress.shared_work.pop(location.key, None)
    if not is_read(name, scope.plan) or not has_result(outcome):
        return
    if outcome.status == "skipped":
        unpublished = []
    work = "" if is_stateful(scope.plan.tools[name]) else json_digest(given)
    texts = [
        publication for publication in state.published.get(name, []) if publication.work != work
    ]
    texts += [PublishedWork("tool_result", text, work) for text in unpublished]
    final = shortened_text(with_text(_text(outcome.data), outcome), _MAX_TEXT)
    texts.append(PublishedWork("final", final, work))
    state.published[name] = texts[-_MAX_KEPT:]


def _text(value: JsonValue) -> str:
    if isinstance(value, dict) and list(value) == ["text"] and isinstance(value["text"], str):
        return value["text"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
