"""`coterie check`: prove properties of a document before a run, and bound its cost."""

import json
import math
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Collection
from datetime import UTC, datetime

from pydantic import JsonValue

from coterie.arguments import add_model, add_target
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.price_lists import Priced, prices, read_prices
from coterie.documents.schedule_warnings import schedule_problems
from coterie.dsl.analysis.dataflow import Input
from coterie.dsl.analysis.findings import Analysis, analysed, warnings
from coterie.dsl.analysis.worst_case import Figures, WorstCase, bounded, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.checks.tools.tool_deferral import tool_searches
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import Problem
from coterie.dsl.model.price import Price
from coterie.dsl.model.sections.provider_document import provider_kind
from coterie.dsl.model.vendors.vendors import VENDORS
from coterie.dsl.values import Json
from coterie.explaining.check_text import (
    basis_text,
    exceeded,
    inputs_text,
    skills_text,
    worst_text,
)
from coterie.failures import ExitCode
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.problems import lines_of_file, problems_text, summary

_INPUT_TOKENS = 20_000


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_target(parser)
    add_model(parser)
    parser.add_argument(
        "--max-cost", type=_amount, metavar="USD", help="fail if a run may cost more"
    )
    parser.add_argument(
        "--max-model-calls",
        type=_whole,
        metavar="N",
        help="fail if a run may make more model calls",
    )
    parser.add_argument(
        "--input-tokens-per-call",
        type=_whole,
        default=_INPUT_TOKENS,
        metavar="N",
        dest="input_tokens",
        help=f"assumed length of a prompt; default: {_INPUT_TOKENS:,}",
    )
    parser.add_argument(
        "--prices",
        metavar="FILE",
        help="YAML of your own prices: provider/model: {input: 3, output: 15}, in US dollars "
        "per million tokens",
    )
    parser.add_argument("--strict", action="store_true", help="fail on any warning")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Analyse the document, and compare the worst case with the given limits."""
    own = {} if args.prices is None else read_prices(settings, args.prices)
    catalog = Catalog(settings)
    compiled = compile_located(catalog, catalog.locate(args.target), args.model)
    analysis = analysed(compiled)
    priced = prices(compiled.plan, compiled.providers, own, args.prices or "", args.input_tokens)
    worst = worst_case(compiled, analysis, Terms(priced.prices, args.input_tokens))
    now = datetime.now(UTC)
    problems = [*schedule_problems(compiled, now), *warnings(compiled, analysis)]
    over_limit = exceeded(worst, args.max_cost, args.max_model_calls)
    if args.json:
        report = _report(problems, analysis.inputs, analysis.needs, worst, over_limit)
        report["tool_search"] = {
            search.persona: {
                "tools": search.tools,
                "sent": search.sent,
                "tokens": search.room.sent,
                "tokens_of_all": search.room.whole,
            }
            for search in tool_searches(compiled.plan)
        }
        report["ignored_variables"] = [*ignored_variables(compiled, settings)]
        say(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        if problems:
            say(problems_text(problems, lines_of_file(settings.cwd)) + "\n")
        say(_text(compiled, analysis, worst, priced))
        note(f"{args.target}: {summary(problems)}")
        for variable, key in ignored_variables(compiled, settings).items():
            note(f"{variable} is set, and ignored: set {key} of the provider instead")
        for sentence in over_limit:
            note(f"coterie: {sentence}")
    failed = over_limit or (args.strict and problems)
    return ExitCode.RUN_FAILED if failed else ExitCode.DONE


def ignored_variables(compiled: Compiled, settings: Settings) -> dict[str, str]:
    """Return the variables that only the SDKs of its providers read, with the keys that count."""
    names = compiled.plan.providers
    kinds = {provider_kind(name, compiled.providers.get(name)) for name in names}
    return {
        variable: key
        for kind in sorted(kinds & VENDORS.keys())
        for variable, key in VENDORS[kind].ignored_variables.items()
        if settings.secret(variable) is not None
    }


def _text(compiled: Compiled, analysis: Analysis, worst: WorstCase, priced: Priced) -> str:
    parts = [
        inputs_text(analysis.inputs, analysis.needs),
        worst_text(worst, compiled.plan.limits),
        basis_text(worst, priced, compiled.plan.budgets, tool_searches(compiled.plan)),
        skills_text(compiled.plan),
    ]
    return "\n\n".join(part for part in parts if part)


def _report(
    problems: list[Problem],
    inputs: tuple[Input, ...],
    needs: Collection[str],
    worst: WorstCase,
    over_limit: list[str],
) -> Json:
    """Return everything as JSON; an unbounded figure is null."""
    return {
        "problems": [{**problem.as_dict()} for problem in problems],
        "inputs": [_input(context_input, needs) for context_input in inputs],
        "worst_case": _worst_case(worst),
        "exceeded": [*over_limit],
    }


def _input(context_input: Input, needs: Collection[str]) -> Json:
    declaration: Json = {}
    if context_input.form:
        declaration = {
            "form": context_input.form,
            "default": context_input.default or None,
            "operations": [*context_input.operations],
        }
    return {
        "path": context_input.path,
        "needed": context_input.needed,
        "to_start": context_input.path in needs,
        "file": context_input.mark.file,
        "line": context_input.mark.line,
        "team": context_input.team,
        **declaration,
    }


def _worst_case(worst: WorstCase) -> Json:
    return {
        "total": _figures(worst.total),
        **({} if worst.message is None else {"message": _figures(worst.message)}),
        "teams": {team: _figures(figures) for team, figures in worst.teams.items()},
        "models": {
            model: {"calls": _bound(calls), "price": _price(worst.terms.prices.get(model))}
            for model, calls in worst.models.items()
        },
        "unbounded": [
            {
                "step": loop.step,
                "length_of": loop.length_of,
                "file": loop.mark.file,
                "line": loop.mark.line,
            }
            for loop in worst.unbounded
        ],
        "assumed_input_tokens_per_call": worst.terms.input_tokens,
    }


def _figures(figures: Figures) -> Json:
    """Return the figures; an incomplete cost is null, beside the sum of the priced models."""
    cost = _bound(round(figures.cost, 6) if bounded(figures.cost) else figures.cost)
    return {
        "visits": figures.visits,
        "model_calls": _bound(figures.model_calls),
        "function_calls": _bound(figures.function_calls),
        "approvals": _bound(figures.approvals),
        "output_tokens": _bound(figures.output_tokens),
        "cost_usd": None if figures.unpriced else cost,
        "priced_cost_usd": cost,
        "unpriced": [*figures.unpriced],
    }


def _price(price: Price | None) -> JsonValue:
    return None if price is None else price.model_dump(exclude_none=True)


def _bound(value: float) -> JsonValue:
    if not bounded(value):
        return None
    return int(value) if float(value).is_integer() else value


def _whole(text: str) -> int:
    if not text.replace("_", "").isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise ArgumentTypeError(f"{text!r} is not an amount of US dollars, such as 2.50")
    return amount
