"""Loads of the answers that an agent asks its models for, before any limit of the run applies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coterie.dsl.analysis.worst_case_sums import (
    COST,
    FUNCTION_CALLS,
    MODEL_CALLS,
    OUTPUT_TOKENS,
    Key,
    Load,
    added,
)
from coterie.dsl.hooks.hook_costs import TURN_POINTS, function_calls, maximum_retries
from coterie.dsl.model.hooks import Hook
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.price import Price
from coterie.dsl.model.step_kinds.agent_types import SINGLE_SHOT
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.traversal.step_bounds import maximum_turns


@dataclass(frozen=True, slots=True)
class Terms:
    """The assumptions that the costs depend on."""

    prices: Mapping[str, Price]
    """`{"provider/model": price}`; a model without an entry is unpriced."""
    input_tokens: int
    """Tokens of one model call's prompt: an assumption, since only the run knows it."""


def answer_loads(step: PersonaStep, persona: Persona, common: Sequence[Hook], terms: Terms) -> Load:
    """Return the load of one turn with its re-asks, or of all turns of an agent with tools.

    Args:
        step: The agent's step.
        persona: What it asks with.
        common: The hooks of all agents.
        terms: What an answer costs.
    """
    hooks = (*common, *persona.hooks)
    uses_tools = step.agent_type != SINGLE_SHOT and (persona.tools or persona.handoffs)
    turns = 1 + persona.max_reasks + maximum_retries(hooks, "after_model_call")
    if uses_tools and persona.tool_choice != "none":
        turns += maximum_turns(step, persona)
    models = (f"{persona.provider}/{persona.model}", *persona.fallback)
    replaced = len(persona.fallback)  # once each: an agent stays with the model that answers
    load: dict[Key, float] = {
        MODEL_CALLS: turns + replaced,
        **{("model", model): turns for model in models},
        OUTPUT_TOKENS: turns * persona.max_tokens,
    }
    again = replaced * function_calls(hooks, "before_model_call")
    if checks := turns * function_calls(hooks, *TURN_POINTS) + again:
        load[FUNCTION_CALLS] = checks
    if cost := _largest_cost(models, persona, terms):
        load[COST] = turns * cost
    return added((load, _summaries(step, persona, models, turns, terms)))


def _largest_cost(models: Sequence[str], persona: Persona, terms: Terms) -> float:
    """Return the cost of an answer of the most expensive of the models."""
    prices = [terms.prices[model] for model in models if model in terms.prices]
    tokens = (
        terms.input_tokens * price.input + persona.max_tokens * price.output for price in prices
    )
    return max(tokens, default=0.0) / 1_000_000


def _summaries(
    step: PersonaStep, persona: Persona, models: Sequence[str], turns: float, terms: Terms
) -> Load:
    """Return the load of the summaries that compact the conversation: one before each turn."""
    policy, is_kept = persona.compaction, step.conversation is not None
    if policy is None or (step.agent_type == SINGLE_SHOT and not is_kept):
        return {}
    summaries = turns if is_kept else turns - 1
    writers = models if policy.model is None else (policy.model,)
    load: dict[Key, float] = {
        MODEL_CALLS: summaries,
        **{("model", model): summaries for model in writers},
        OUTPUT_TOKENS: summaries * persona.max_tokens,
    }
    if cost := _largest_cost(writers, persona, terms):
        load[COST] = summaries * cost
    return load
