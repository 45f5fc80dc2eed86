"""How a run ends: its result, which a failed run has too."""

from typing import get_args

from pydantic import JsonValue

from coterie.dsl.errors import (
    LimitExceeded,
    OutputFailed,
    TeamError,
    TeamFailed,
    TemplateFailed,
    ValueTooLarge,
)
from coterie.dsl.model.facts import Outcomes
from coterie.dsl.model.outcomes import End, Failure
from coterie.dsl.sizes import check_size
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.core.location import facts_at_end
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import Track
from coterie.workflows.core.usage import estimated_calls, total_cost
from coterie.workflows.core.views import TeamResult


class RunFailed(TeamError):
    """A run that did not complete; `result` keeps what there is."""

    def __init__(self, result: TeamResult, cause: TeamError) -> None:
        self.result = result
        self.type = type(cause).__name__
        super().__init__(str(cause))


def failed_result(scope: Scope, error: TeamError) -> TeamResult:
    """Return the result of a run that an error ended."""
    team_result = result(scope, _end_of(error), str(error), type(error).__name__)
    root = error.root if isinstance(error, TeamFailed) else ""
    return team_result.model_copy(update={"root": root}) if root else team_result


_ENDS: dict[str, End] = {
    end: end for end in get_args(End) if end not in ("completed", "failed", "cancelled")
}
"""The limits of a run, each with an end of its own."""


def _end_of(error: TeamError) -> End:
    return _ENDS.get(error.limit, "no_progress") if isinstance(error, LimitExceeded) else "failed"


def declared_output(scope: Scope) -> JsonValue:
    """Return the declared output of a run at its end; None without one.

    Raises:
        OutputFailed: it cannot be rendered, or is too large.
    """
    main = scope.state.main
    return rendered_output("the run", scope.plan.output, scope, main, {})


def rendered_output(
    owner: str, output: JsonValue, scope: Scope, track: Track, tasks: Outcomes
) -> JsonValue:
    """Return an output, filled from the facts of a track that has ended.

    Args:
        owner: What declares it, for messages.
        output: The template.
        scope: The run.
        track: It has ended.
        tasks: The outcomes that the template names as `tasks`.

    Raises:
        OutputFailed: it cannot be rendered, or is too large.
    """
    if output is None:
        return None
    what = f"the output of {owner}"
    try:
        value = fill(output, facts_at_end(scope, track, tasks).names())
        check_size(value, what)
    except (TemplateFailed, ValueTooLarge) as error:
        raise OutputFailed(f"{what} cannot be rendered: {error}") from None
    return value


def result(scope: Scope, end: End, because: str, error: str | None = None) -> TeamResult:
    """Return the result of a run; `output` is that of its current or last team."""
    state = scope.state
    main = state.main
    open_frame = state.open_frame(MAIN)
    last = open_frame.tasks if open_frame else main.latest.get(main.routed.from_team or "", {})
    cost, unpriced = total_cost(state)
    return TeamResult(
        end=end,
        because=because,
        plan=scope.plan.name,
        digest=scope.plan.digest,
        context=main.context,
        output={name: outcome.data for name, outcome in last.items() if outcome.success},
        visits=state.visits,
        teams_run=state.teams_run,
        model_calls=state.model_calls,
        function_calls=state.function_calls,
        usage=state.usage,
        cost=cost,
        unpriced=unpriced,
        estimated=estimated_calls(state),
        decisions=tuple(state.decisions.values()),
        trail_length=state.trail_length,
        trail_digest=state.trail_digest,
        error=None if error is None else Failure(type=error, message=because),
    )
