"""The hooks of a whole run: of its context at the start, and of its output at the end."""

from pydantic import JsonValue

from coterie.dsl.errors import HookFailed, HookRejected
from coterie.dsl.evaluate.context_writes import ContextWrite, written_value
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.sizes import check_size
from coterie.workflows.agents.hook_points import ask_hooks, reason_of
from coterie.workflows.context_drafts import write_to_track
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import MAIN


async def before_run(scope: Scope) -> None:
    """Ask the hooks once, before the first team; write to the context what they change.

    Raises:
        HookFailed: a hook fails, or cannot decide.
        HookRejected: a hook rejects the run.
        TeamError: a change does not fit the declared context.
    """
    state = scope.state
    if state.hooks_asked:
        return
    main = state.main
    location = Location.of_visit(MAIN, main.team, main.visit)
    verdict = await ask_hooks(scope.plan.hooks, "before_run", {}, location, scope)
    _stop(verdict.stop)
    writes = [
        ContextWrite(path, written.value, written.operation)
        for path, value in verdict.writes.items()
        for written in (written_value(value),)
    ]
    write_to_track(scope.plan, main, writes, "a hook")
    state.hooks_asked = True


async def after_run(scope: Scope, output: JsonValue) -> JsonValue:
    """Ask the hooks about the output of a run that has completed; return it as they change it.

    Raises:
        HookFailed: a hook fails, or cannot decide.
        HookRejected: a hook rejects the output.
        ValueTooLarge: the changed output is larger than may travel.
    """
    main = scope.state.main
    location = Location.of_visit(MAIN, main.routed.from_team, 0)
    verdict = await ask_hooks(scope.plan.hooks, "after_run", {"output": output}, location, scope)
    _stop(verdict.stop)
    if verdict.changed_by:
        check_size(verdict.facts["output"], "the output of the run")
    return verdict.facts["output"]


def _stop(ruling: HookRuling | None) -> None:
    if ruling is None:
        return
    kind = HookRejected if ruling.decision == "reject" else HookFailed
    raise kind(reason_of(ruling))
