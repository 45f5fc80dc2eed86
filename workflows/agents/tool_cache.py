"""Results of tools with `cache: run`: the same call gets the first result again.

Equal calls that are in progress at once become one call, whose result all get. Only successes of
tools that read are kept, and any call with an effect forgets all of them.
"""

import json
from typing import Self

from pydantic import JsonValue

from coterie.activities.contracts import KeptResult
from coterie.dsl.egress.counted_grants import counted_grants
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.tools.tool_contract import OneCallTool, PlannedTool
from coterie.dsl.tool_loop.call_checks import fingerprint
from coterie.workflows.agents.skill_calls import CalledSkill
from coterie.workflows.core.location import Location
from coterie.workflows.core.memory import CachedResult, ReadInProgress
from coterie.workflows.core.scope import Scope

_MAX_CACHED = 200
"""Results that a run keeps; it forgets the oldest."""

_MAX_SIZE = 4_000
"""Bytes of JSON of a result that the state keeps itself; the worker stores larger ones."""


class CachedCall:
    """One call of a tool, which may get the result of an equal one."""

    def __init__(
        self,
        name: str,
        tool: OneCallTool,
        given: JsonValue,
        location: Location,
        scope: Scope,
        *,
        keep: bool,
    ) -> None:
        """Take the call.

        Args:
            name: of the tool.
            tool: its contract.
            given: its whole input.
            location: of the call.
            scope: the run.
            keep: whether the caller takes the name of a stored result.
        """
        is_cached = tool.cache is not None and tool.effect == "read"
        self._key = _key(name, tool, given, location, scope) if is_cached else ""
        self._name = name
        self._keep = keep
        self._scope = scope
        self._read = ReadInProgress()

    async def known(self) -> CalledSkill | None:
        """Return the result of an equal call, which may still be in progress.

        None if this call must be made: there is no equal one, or it failed.
        """
        if not self._key:
            return None
        state, scope = self._scope.state, self._scope
        result = self._usable(state.cached_results.get(self._key))
        while result is None:
            read = state.reads_in_progress.get(self._key)
            if read is None:
                return None
            await _end_of(read, self._name, scope)
            result = self._usable(read.result)
        return result

    def _usable(self, found: CachedResult | None) -> CalledSkill | None:
        if found is None or (found.name and not self._keep):
            return None
        if found.name:
            kept = KeptResult(name=found.name, size=found.size, preview="")
            return CalledSkill(Outcome.succeeded(), kept)
        return CalledSkill(Outcome.succeeded(found.data, found.text))

    def __enter__(self) -> Self:
        """Begin the call: equal ones wait for it from now on."""
        if self._key:
            self._scope.state.reads_in_progress.setdefault(self._key, self._read)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: object,
    ) -> None:
        """End the call, also without a result: then one of those that wait makes its own."""
        self._read.ended = True
        if self._is_current():
            del self._scope.state.reads_in_progress[self._key]

    def remember(self, called: CalledSkill) -> None:
        """Give the result of the call to equal ones, now and later, if it succeeded.

        One that depends on a person's answer is given to none: another call may get other answers.
        """
        if not self._key or not called.outcome.success or called.has_answers:
            return
        state = self._scope.state
        if called.kept is not None:
            result = CachedResult(name=called.kept.name, size=called.kept.size)
        else:
            result = CachedResult(data=called.outcome.data, text=called.outcome.text)
        self._read.result = result
        if called.kept is None and len(json.dumps([result.data, result.text])) > _MAX_SIZE:
            return
        if not self._is_current():
            return  # an effect since the call began: it may have read what was before
        state.cached_results[self._key] = result
        while len(state.cached_results) > _MAX_CACHED:
            del state.cached_results[next(iter(state.cached_results))]

    def _is_current(self) -> bool:
        return self._scope.state.reads_in_progress.get(self._key) is self._read


async def _end_of(read: ReadInProgress, name: str, scope: Scope) -> None:
    """Wait for an equal call; it ends before the run continues as new."""
    await scope.wait_until(lambda: read.ended, None, f"an equal call of {name}", boundary=False)


def forget_result(
    name: str, tool: PlannedTool, given: JsonValue, location: Location, scope: Scope
) -> None:
    """Forget the result of a call that is made again."""
    scope.state.cached_results.pop(_key(name, tool, given, location, scope), None)


def _key(name: str, tool: PlannedTool, given: JsonValue, location: Location, scope: Scope) -> str:
    """Return the key of a call; without grants, it is the one that earlier versions have kept."""
    counted = counted_grants(tool.grants, location.enclosing_tools, scope.plan).counted
    grants: list[JsonValue] = [*sorted(counted)]
    return fingerprint([name, tool.contract, given, *([grants] if grants else [])])
