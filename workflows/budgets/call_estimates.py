"""Call estimates: what a model turn will probably use, from what the workflow knows of it. Pure.

The workflow knows the prompts and results that a turn sends, `max_tokens` of its persona, the
prices of its plan, and what earlier calls of the run have used; not the turns of a conversation.

A turn that is cut off while it runs is paid, too. Its usage is never reported, so its input is
estimated from what was sent; the output is not counted.
"""

from typing import NamedTuple

from coterie.activities.contracts import AgentRequest, Spent, TokenUsage
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.sizes import json_size
from coterie.workflows.budgets.balances import Personas, paid
from coterie.workflows.core.causes.agent_causes import CallCutOff
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.scope import Interrupted, NeverCalled, Scope
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Tally
from coterie.workflows.core.trail import note_step_end
from coterie.workflows.core.usage import DIGITS, used

_BYTES_OF_A_TOKEN = 4


class CallEstimate(NamedTuple):
    """The tokens that a call will use at most, as far as the run can tell."""

    model: str
    """`provider/model`."""
    sent: int
    answered: int

    @property
    def tokens(self) -> int:
        """Input and output."""
        return self.sent + self.answered

    def cost(self, plan: Plan, state: RunState) -> float | None:
        """Return their US dollars, by the plan's price, else by what others of the model cost.

        None if nothing of the model has a price so far.
        """
        price = plan.prices.get(self.model)
        if price is not None:
            return price.of(self.sent, self.answered)
        mean = _mean_price(state, self.model)
        return None if mean is None else mean * self.tokens


def estimate_call(
    persona: Persona, model: str, request: AgentRequest, earlier: Tally | None
) -> CallEstimate:
    """Estimate one attempt of a model turn: its input, and an answer as long as it may be.

    Args:
        persona: whose turn it is.
        model: `provider/model`.
        request: of the turn.
        earlier: the calls of this task and model so far; None before the first.
    """
    input_tokens = estimated_input(request) + _results(request)
    if request.conversation is not None and earlier is not None:
        input_tokens += _largest(earlier)  # of which the next turn sends everything again
    return CallEstimate(model, input_tokens, persona.max_tokens)


def estimated_news(request: AgentRequest) -> int:
    """Return about how many tokens a turn adds to its conversation."""
    again = request.reask
    problem = 0 if again is None or request.persona is not None else _size(again.problem)
    notes = 0 if request.persona is not None else sum(map(_size, _notes(request)))
    turn = request.tool_turn
    stored = 0 if turn is None else sum(result.size for result in turn.results)
    return estimated_input(request) + _results(request) + _tokens(problem + notes + stored)


def _largest(tally: Tally) -> int:
    """Return the tokens of the largest call; of the mean one, if the run does not remember."""
    mean = (tally.input_tokens + tally.output_tokens) // max(tally.calls, 1)
    return max(tally.largest_call, mean)


def estimated_input(request: AgentRequest) -> int:
    """Return about how many tokens a request sends: its prompts, and what they name.

    0 if the request does not say. Earlier turns of a conversation are not in it: the worker keeps
    them.
    """
    persona = request.persona
    if persona is None:
        return 0
    texts = [*persona.prompts.values(), *_notes(request)]
    if request.reask is not None:
        texts += [request.reask.answer, request.reask.problem]
    return _tokens(sum(map(_size, texts)) + json_size(request.inputs))


def _notes(request: AgentRequest) -> tuple[str, ...]:
    """Return what the turn's message has besides the prompt and the results."""
    return (*request.notices, *request.said)


def _results(request: AgentRequest) -> int:
    """Return about how many tokens the tools of a turn and their results have."""
    turn = request.tool_turn
    if turn is None:
        return 0
    offered = sum(_size(tool.description) + json_size(tool.input_schema) for tool in turn.offered)
    return _tokens(offered + sum(_size(result.text) for result in turn.results))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _tokens(size: int) -> int:
    return -(-size // _BYTES_OF_A_TOKEN)


def _mean_price(state: RunState, model: str) -> float | None:
    """Return the US dollars of a token over all calls of a model so far; None without any."""
    priced = [
        tally for tally in state.tallies.values() if tally.model == model and tally.cost is not None
    ]
    tokens = sum(tally.input_tokens + tally.output_tokens for tally in priced)
    return sum(tally.cost or 0.0 for tally in priced) / tokens if tokens else None


def is_cut_off(error: BaseException) -> bool:
    """Return whether a model turn ends because it is cancelled, or skipped by a person."""
    if isinstance(error, Interrupted | GeneratorExit | NeverCalled):
        return False
    return isinstance(error, Skipped) or not isinstance(error, Exception)


def count_cut_off(
    request: AgentRequest,
    tally: Tally,
    since: float,
    personas: Personas,
    location: Location,
    scope: Scope,
) -> None:
    """Count a model turn that is cut off while it runs, and charge the budgets of the plan.

    Args:
        request: What was sent.
        tally: Of the task and its model.
        since: The Unix time at which the turn began.
        personas: Their budgets pay.
        location: Of the agent.
        scope: The run.
    """
    tokens = estimated_input(request) or _usual_input(tally)
    seconds = round(scope.time() - since, 2)
    tally.cut_off += 1
    usage = TokenUsage(input_tokens=tokens) if tokens else None
    cost = _cost_of_input(tally.model, tokens, scope)
    used(scope.state, location, tally, Spent(usage=usage, cost=cost, seconds=seconds))
    cause = CallCutOff("call_cut_off", tally.model, tokens)
    note_step_end(scope, location, "cut_off", cause, since, tokens)
    if scope.plan.budgets:
        # without a cost, a budget of money could not be held and would stop the run
        spent = Spent(usage=usage, cost=cost or 0.0, seconds=seconds)
        paid(scope, location, personas, spent, tally.model)


def _cost_of_input(model: str, tokens: int, scope: Scope) -> float | None:
    """Return the US dollars of the input; None if nothing of the model has a price so far."""
    if not tokens:
        return None
    cost = CallEstimate(model, tokens, 0).cost(scope.plan, scope.state)
    return None if cost is None else round(cost, DIGITS)


def _usual_input(tally: Tally) -> int:
    """Return what the other calls of a task have sent on average.

    A later turn of an agent with tools names its conversation only.
    """
    others = tally.calls - 1
    return tally.input_tokens // others if others else 0
