"""Usage: what calls use, counted in the run's state from the reports of the activities.

Failed attempts count too, as far as their usage is known. Pure functions over RunState.
"""

from functools import reduce
from typing import TypeVar

from coterie.activities.contracts import AgentResponse, FunctionResult, Spent, TokenUsage
from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.model.plan_key import PlanKey
from coterie.workflows.core.location import Location
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey, StepKey
from coterie.workflows.core.state_parts import Tally

DIGITS = 9
"""Decimal places of US dollars: all answers about a run round alike."""

Used = TypeVar("Used", AgentResponse, FunctionResult, Spent)


def began(
    state: RunState, location: Location, persona: str, model: str = "", tool: str = ""
) -> Tally:
    """Count a call that begins; its usage is added to the returned tally."""
    task, key = _tally_key(location, model, tool)
    tally = state.tallies.get(key)
    if tally is None:
        owner = PlanKey(persona).persona
        tally = state.tallies[key] = Tally(task, owner, model, tool)
    tally.calls += 1
    return tally


def tally_of(state: RunState, location: Location, model: str = "", tool: str = "") -> Tally | None:
    """Return what the calls of a task have used so far; None before the first."""
    return state.tallies.get(_tally_key(location, model, tool)[1])


def _tally_key(location: Location, model: str, tool: str) -> tuple[StepKey, str]:
    """Return the task that a call belongs to, and the key of its tally."""
    task = location.step.without_model_calls()
    if (
        location.frame_key.is_of_branch
    ):  # a concurrent round has a number, which is not a task's name
        task = task.without_rounds()
    return task, f"{task} {model}{tool}"


def used(state: RunState, location: Location, tally: Tally, what: AgentResponse | Spent) -> None:
    """Add what a model call used, over all its attempts."""
    usage = what.usage
    tally.seconds += what.seconds
    tally.cut_off += what.cut_off
    tally.estimated += what.estimated
    if usage is None:
        tally.unreported += isinstance(what, AgentResponse) and _may_have_been_called(what)
    else:
        tally.input_tokens += usage.input_tokens
        tally.output_tokens += usage.output_tokens
        tally.cached_tokens += usage.cached_tokens
        tokens = usage.total
        tally.largest_call = max(tally.largest_call, tokens)
        state.usage += usage
        count_beside(state, location.key, tokens)
        if what.cost is None or what.unpriced:
            tally.unpriced += 1
        if what.cost is not None:
            tally.cost = what.cost if tally.cost is None else tally.cost + what.cost


def count_beside(state: RunState, key: str, tokens: int) -> None:
    """Count a call's tokens as concurrent usage of the steps that do not contain it."""
    for list_key, sequence in state.progress.sequences.items():
        if sequence.started is not None and not StateKey(list_key).list_owner.holds(key):
            sequence.started.tokens_of_others += tokens


_UNEXPANDED = (TemplateFailed.__name__, EvaluationLimitExceeded.__name__)


def _may_have_been_called(answer: AgentResponse) -> bool:
    """Return whether a model may have been called: not if the prompt could not be rendered."""
    return answer.error is None or answer.error.type not in _UNEXPANDED


def together(cut: Spent, what: Used) -> Used:
    """Return the result of a repeated call, with the usage of the interrupted attempt."""
    seconds = cut.seconds + what.seconds
    if isinstance(what, FunctionResult):
        return what.model_copy(update={"seconds": seconds})
    usages = [part.usage for part in (cut, what) if part.usage is not None]
    costs = [part.cost for part in (cut, what) if part.cost is not None]
    unpriced = any(
        part.unpriced or (part.usage is not None and part.cost is None) for part in (cut, what)
    )
    return what.model_copy(
        update={
            "usage": reduce(TokenUsage.__add__, usages) if usages else None,
            "cost": sum(costs) if costs else None,
            "unpriced": unpriced and bool(costs),
            "seconds": seconds,
            "cut_off": cut.cut_off + what.cut_off,
            "estimated": cut.estimated + what.estimated,
            "inner_calls": tuple(dict.fromkeys((*cut.inner_calls, *what.inner_calls))),
        }
    )


def estimated_calls(state: RunState) -> int:
    """Return the number of model calls whose usage is estimated."""
    return sum(tally.estimated for tally in state.tallies.values())


def total_cost(state: RunState) -> tuple[float | None, bool]:
    """Return the US dollars of all calls that have a price, and whether others have none."""
    costs = [tally.cost for tally in state.tallies.values() if tally.cost is not None]
    unpriced = any(tally.unpriced for tally in state.tallies.values())
    return (round(sum(costs), DIGITS) if costs else None), unpriced
