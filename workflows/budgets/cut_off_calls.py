"""Cut-off calls: the probable usage of a model turn that is left while it runs. It is paid, too.

Nobody waits for the answer of a branch that is no longer needed, so its usage is never reported:
the input is estimated from what was sent, and so is its cost; the output is not counted.
"""

from coterie.activities.contracts import AgentRequest, Spent, TokenUsage
from coterie.workflows.budgets.balances import Personas, paid
from coterie.workflows.budgets.call_estimates import CallEstimate, estimated_input
from coterie.workflows.core.causes.agent_causes import CallCutOff
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.memory import Tally
from coterie.workflows.core.scope import Interrupted, NeverCalled, Scope
from coterie.workflows.core.trail import note_step_end
from coterie.workflows.core.usage import DIGITS, used


class counting_if_cut_off:  # lower case, since it reads `with counting_if_cut_off(...):`
    """Counts the model turn of its block if that is cancelled, or skipped by a person."""

    def __init__(
        self,
        scope: Scope,
        location: Location,
        personas: Personas,
        request: AgentRequest,
        tally: Tally,
    ) -> None:
        self._scope = scope
        self._location = location
        self._personas = personas
        self._request = request
        self._tally = tally
        self._since = scope.time()

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Count; the exception propagates."""
        if error is None or isinstance(error, Interrupted | GeneratorExit):
            return
        is_cut_off = isinstance(error, Skipped) or not isinstance(error, Exception)
        if is_cut_off and not isinstance(error, NeverCalled):
            self._count()

    def _count(self) -> None:
        scope, location, tally = self._scope, self._location, self._tally
        tokens, since = estimated_input(self._request) or _usual_input(tally), self._since
        seconds = round(scope.time() - since, 2)
        tally.cut_off += 1
        usage = TokenUsage(input_tokens=tokens) if tokens else None
        cost = self._cost(tokens)
        used(scope.state, location, tally, Spent(usage=usage, cost=cost, seconds=seconds))
        cause = CallCutOff("call_cut_off", tally.model, tokens)
        note_step_end(scope, location, "cut_off", cause, since, tokens)
        if scope.plan.budgets:
            # without a cost, a budget of money could not be held and would stop the run
            spent = Spent(usage=usage, cost=cost or 0.0, seconds=seconds)
            paid(scope, location, self._personas, spent, tally.model)

    def _cost(self, tokens: int) -> float | None:
        """Return the US dollars of the input; None if nothing of the model has a price so far."""
        scope = self._scope
        if not tokens:
            return None
        cost = CallEstimate(self._tally.model, tokens, 0).cost(scope.plan, scope.state)
        return None if cost is None else round(cost, DIGITS)


def _usual_input(tally: Tally) -> int:
    """Return what the other calls of a task have sent on average.

    A later turn of an agent with tools names its conversation only.
    """
    others = tally.calls - 1
    return tally.input_tokens // others if others else 0
