"""Print the results of `coterie check`: inputs, the worst case as a table, and its basis."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from coterie.documents.price_lists import Priced
from coterie.dsl.analysis.dataflow import Input
from coterie.dsl.analysis.worst_case import Figures, WorstCase, bounded
from coterie.dsl.analysis.worst_case_of_steps import LEGACY, Unbounded
from coterie.dsl.checks.tools.tool_deferral import ToolSearch
from coterie.dsl.model.agent_skills import MAIN_FILE
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.plan import Limits, Persona, Plan
from coterie.text.columns import aligned
from coterie.text.lines import text_of
from coterie.text.problems import counted

_HEAD = ("", "visits", "model calls", "function calls", "approvals", "output tokens", "USD")
_INDENT = "  "


def inputs_text(inputs: Sequence[Input], needs: Collection[str] = ()) -> str:
    """List the context fields that the document expects; mark those that every start must set."""
    if any(context_input.form for context_input in inputs):
        return _declared_text(inputs)
    if not inputs:
        return "inputs: none; every context value that a team reads is set by a team"
    rows = [
        (
            context_input.path,
            _how_needed(context_input, needs),
            f"{context_input.mark.file}:{context_input.mark.line}",
            f"read first by {context_input.team}",
        )
        for context_input in inputs
    ]
    return text_of(["inputs, set with --context or --set", *_table(rows)])


def _declared_text(inputs: Sequence[Input]) -> str:
    """List the declared context: required inputs first, then the paths with defaults."""
    rows = [
        (
            context_input.path,
            "required" if context_input.needed else "optional",
            _form(context_input),
            ", ".join(context_input.operations) or "-",
            f"{context_input.mark.file}:{context_input.mark.line}",
        )
        for context_input in sorted(inputs, key=lambda context_input: not context_input.needed)
    ]
    return text_of(["declared context, set with --context or --set", *_table(rows)])


def _form(context_input: Input) -> str:
    parts = [context_input.form]
    if not context_input.needed:
        parts.append(f"default {context_input.default}")
    if context_input.keep_last is not None:
        parts.append(f"keeps the last {context_input.keep_last}")
    return ", ".join(parts)


def _how_needed(context_input: Input, needs: Collection[str]) -> str:
    """Return `to start` if no run works without it."""
    if context_input.path in needs:
        return "to start"
    return "needed" if context_input.needed else "optional"


def worst_text(worst: WorstCase, limits: Limits) -> str:
    """Format the table of the worst case."""
    rows = [_HEAD, *(_row(team, figures) for team, figures in worst.teams.items())]
    visits = counted(limits.max_total_teams, "team visit")
    together, line = worst.total, "the last line"
    if worst.message is None:
        lines = [f"worst case under the limits, at most {visits}"]
        rows.append(_row("the whole run", worst.total))
    else:
        together, line = worst.message, "the line of a message"
        messages = counted(limits.max_messages, "message")
        lines = [f"worst case of a session, at most {visits} for each message, and {messages}"]
        rows.append(_row("each message", worst.message))
        rows.append(_row("the whole session", worst.total))
    lines += _table(rows, numbers=True)
    if sum(figures.visits for figures in worst.teams.values()) > together.visits:
        lines.append(f"{_INDENT}(each team by itself; together they stay within {line})")
    return text_of(lines)


def skills_text(plan: Plan) -> str:
    """Say how many tokens the agent skills of each persona take; empty without any."""
    rows = [
        (
            key,
            counted(len(persona.agent_skills), "skill"),
            f"about {_tokens(persona.skill_list)} tokens in each request",
            f"at most {_tokens(*_bodies(plan, persona))} more in one that has read them all",
        )
        for key, persona in plan.personas.items()
        if persona.agent_skills
    ]
    return text_of(["agent skills", *_table(rows)]) if rows else ""


def _bodies(plan: Plan, persona: Persona) -> Iterator[str]:
    for name in persona.agent_skills:
        yield plan.skills[name].files[MAIN_FILE].text or ""


def _tokens(*texts: str) -> str:
    return f"{math.ceil(sum(map(len, texts)) / _CHARACTERS_OF_A_TOKEN):,}"


_CHARACTERS_OF_A_TOKEN = 4


def basis_text(
    worst: WorstCase,
    priced: Priced,
    budgets: Sequence[Budget] = (),
    searches: Sequence[ToolSearch] = (),
) -> str:
    """List the assumptions of the figures, and what they leave out."""
    lines = [*_basis(worst, priced), *map(_search, searches)]
    if budgets:
        amounts = "; ".join(
            f"{budget.description}, {budget.amount(budget.limit)}" for budget in budgets
        )
        lines.append(f"not counted: budgets, which end or redirect a run earlier: {amounts}")
    return text_of(f"{_INDENT}{line}" for line in lines)


def _basis(worst: WorstCase, priced: Priced) -> Iterator[str]:
    for model, calls in worst.models.items():
        price = priced.prices.get(model)
        bound = f"{model}: at most {_count(calls)} calls"
        if price is None:
            what = "its class may call any model" if model == LEGACY else "no price is known"
            yield f"{bound}, UNPRICED and not in the cost: {what}"
        else:
            yield (
                f"{bound}, {price.input:,.2f} USD in and {price.output:,.2f} USD out per million "
                f"tokens ({priced.sources[model]})"
            )
    if worst.models:
        yield (
            f"assumed: {worst.terms.input_tokens:,} input tokens per call, which documents do not "
            "set (--input-tokens-per-call)"
        )
        yield (
            "counted: every re-ask and every retry of a step, each answer as long as its "
            "max_tokens; not: requests that a provider refuses, or that people repeat"
        )
    for loop in worst.unbounded:
        yield (
            f"unbounded: the loop {loop.step!r} iterates over {loop.length_of}, whose length no "
            f"document limits ({loop.mark.file}:{loop.mark.line}); set `max_iterations`"
        )


def _search(search: ToolSearch) -> str:
    return (
        f"tool search: {search.persona} sees {search.sent:,} of {search.tools:,} tools and finds "
        f"the others, so each request has about {search.room.sent:,} tokens of tools instead of "
        f"{search.room.whole:,}; a search is part of a turn, and no function call"
    )


def exceeded(worst: WorstCase, max_cost: float | None, max_model_calls: int | None) -> list[str]:
    """Return a sentence for each limit that the worst case exceeds."""
    total, lines = worst.total, list[str]()
    if max_model_calls is not None and total.model_calls > max_model_calls:
        lines.append(
            f"a run may make {_count(total.model_calls)} model calls, more than "
            f"--max-model-calls {max_model_calls:,}{_why(total.model_calls, worst.unbounded)}"
        )
    if max_cost is not None and total.unpriced:
        lines.append(
            f"the cost has no upper limit: {', '.join(total.unpriced)} is unpriced; add its price "
            "to a file and pass it with --prices"
        )
    elif max_cost is not None and total.cost > max_cost + 1e-9:
        lines.append(
            f"a run may cost {_cost(total.cost)} USD, more than --max-cost {max_cost:,.2f}"
            f"{_why(total.cost, worst.unbounded)}"
        )
    return lines


def _why(value: float, loops: Iterable[Unbounded]) -> str:
    if bounded(value):
        return ""
    return ": nothing limits " + ", ".join(repr(loop.step) for loop in loops)


def _row(name: str, figures: Figures) -> tuple[str, ...]:
    return (
        name,
        _count(figures.visits),
        _count(figures.model_calls),
        _count(figures.function_calls),
        _count(figures.approvals),
        _count(figures.output_tokens),
        _money(figures),
    )


def _count(value: float) -> str:
    return f"{int(value):,}" if bounded(value) else "unbounded"


def _money(figures: Figures) -> str:
    if not figures.unpriced:
        return _cost(figures.cost)
    return "unpriced" if not figures.cost else f"{_cost(figures.cost)} + unpriced"


def _cost(value: float) -> str:
    """Round up to cents, so that an upper limit stays one."""
    return f"{math.ceil(value * 100 - 1e-6) / 100:,.2f}" if bounded(value) else "unbounded"


def _table(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    right = range(1, len(rows[0])) if numbers else ()
    return [f"{_INDENT}{line}" for line in aligned(rows, right=right)]
