"""Results of tools with `cache: run`: the same call gets the first result again.

Only successes of tools that read are kept, and any call with an effect forgets all of them.
"""

import json

from pydantic import JsonValue

from activities.contracts import KeptResult
from dsl.model.outcomes import Outcome
from dsl.model.tools.tool_contract import Tool
from dsl.tool_loop.call_checks import fingerprint
from workflows.agents.skill_calls import CalledSkill
from workflows.core.memory import CachedResult
from workflows.core.state import RunState

_MAX_CACHED = 200
"""Results that a run keeps; it forgets the oldest."""

_MAX_SIZE = 4_000
"""Bytes of JSON of a result that the state keeps itself; the worker stores larger ones."""


def cached_result(
    name: str, tool: Tool, given: JsonValue, state: RunState, *, keep: bool
) -> CalledSkill | None:
    """Return the result of an equal earlier call.

    Args:
        name: of the tool.
        tool: its contract.
        given: its whole input.
        state: of the run.
        keep: whether the caller takes the name of a stored result.
    """
    if tool.cache is None:
        return None
    found = state.cached_results.get(_key(name, tool, given))
    if found is None or (found.name and not keep):
        return None
    if found.name:
        return CalledSkill(
            Outcome.succeeded(), KeptResult(name=found.name, size=found.size, preview="")
        )
    return CalledSkill(Outcome.succeeded(found.data))


def remember_result(
    name: str, tool: Tool, given: JsonValue, called: CalledSkill, state: RunState
) -> None:
    """Keep the result of a call, if it succeeded and its tool says so."""
    if tool.cache is None or tool.effect != "read" or not called.outcome.success:
        return
    cached = state.cached_results
    if called.kept is not None:
        result = CachedResult(name=called.kept.name, size=called.kept.size)
    elif len(json.dumps(called.outcome.data)) <= _MAX_SIZE:
        result = CachedResult(data=called.outcome.data)
    else:
        return
    cached[_key(name, tool, given)] = result
    while len(cached) > _MAX_CACHED:
        del cached[next(iter(cached))]


def forget_result(name: str, tool: Tool, given: JsonValue, state: RunState) -> None:
    """Forget the result of a call that is made again."""
    state.cached_results.pop(_key(name, tool, given), None)


def _key(name: str, tool: Tool, given: JsonValue) -> str:
    return fingerprint([name, tool.contract, given])
