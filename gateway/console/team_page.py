"""The page of one team: what it is for, what it needs, what is proved of it, how its runs went."""

from dataclasses import dataclass

from coterie.documents.catalog import Catalog, Located, shown
from coterie.documents.compilation import compile_located
from coterie.documents.tool_packages import known_functions
from coterie.dsl.analysis.dataflow import Input
from coterie.dsl.analysis.findings import analysed, warnings, with_needs
from coterie.dsl.errors import Problem
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.tool_contract import OneCallTool
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.explaining.effective_values import explained
from coterie.gateway.console.bounds_met import worst_of_plan
from coterie.gateway.console.drawn_figures import TeamGraph, team_graph
from coterie.gateway.console.fields.form_fields import FormField
from coterie.gateway.console.fields.schema_forms import start_form
from coterie.gateway.console.plan_outline import PlanOutline, outline_of
from coterie.mcp_server.served_teams import arguments_schema, team_description
from coterie.settings import Settings


@dataclass(frozen=True, slots=True)
class InputRow:
    """One path of the context that a team reads from its start."""

    path: str
    need: str
    form: str
    at: str
    """Where it is declared, or read first."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool, and what its results and effects mean for a run."""

    name: str
    kind: str
    effect: str
    labels: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class BoundRow:
    """One bound that holds for every run."""

    name: str
    bound: str


@dataclass(frozen=True, slots=True)
class TeamPage:
    """One team."""

    team: str
    file: str
    description: str
    plan: PlanOutline
    graph: TeamGraph
    inputs: tuple[InputRow, ...]
    tools: tuple[ToolRow, ...]
    bounds: tuple[BoundRow, ...]
    findings: tuple[str, ...]
    form: tuple[FormField, ...]
    """Of a start."""
    is_session: bool
    """Whether people talk with its runs."""


def team_page(settings: Settings, located: Located) -> TeamPage:
    """Return the page of a team from its document.

    Raises:
        InvalidDocument: The document has problems.
    """
    compiled = compile_located(Catalog(settings), located, only_shown=True)
    analysis = analysed(compiled)
    plan = with_needs(compiled, analysis).plan
    values = explained(compiled, known_functions(settings, compiled.worker.tool_packages), None)
    return TeamPage(
        team=located.name,
        file=shown(located.file, settings),
        description=team_description(compiled, located.name),
        plan=outline_of(plan, values),
        graph=team_graph(plan),
        inputs=tuple(_input(one, plan) for one in analysis.inputs),
        tools=_tools(plan),
        bounds=_bounds(plan),
        findings=tuple(map(_finding, warnings(compiled, analysis))),
        form=start_form(arguments_schema(plan), {}, files=True),
        is_session=bool(message_waits(plan)),
    )


def _finding(problem: Problem) -> str:
    where = f"{problem.file}:{problem.line}"
    fix = f" Fix: {problem.fix}" if problem.fix else ""
    return f"{problem.code} at {where}: {problem.message}.{fix}"


def _input(one: Input, plan: Plan) -> InputRow:
    needed = one.needed if plan.context else one.path in plan.needs
    form = one.form or "any"
    if one.default and not one.needed:
        form += f", default {one.default}"
    return InputRow(
        one.path, "required" if needed else "optional", form, f"{one.mark.file}:{one.mark.line}"
    )


def _tools(plan: Plan) -> tuple[ToolRow, ...]:
    words = {"read": "only reads", "idempotent": "may be repeated", "once": "must not be repeated"}
    return tuple(
        ToolRow(
            name,
            tool.kind,
            words[tool.effect] if isinstance(tool, OneCallTool) else "as its steps",
            tuple(tool.labels),
            tool.description or "",
        )
        for name, tool in plan.tools.items()
    )


def _bounds(plan: Plan) -> tuple[BoundRow, ...]:
    worst = worst_of_plan(plan)
    total = worst.total
    figures = {
        "team visits": float(min(total.visits, plan.limits.max_total_teams)),
        "model calls": total.model_calls,
        "function calls": total.function_calls,
        "approvals": total.approvals,
        "output tokens": total.output_tokens,
    }
    rows = [
        BoundRow(name, "unbounded" if bound == float("inf") else f"at most {bound:,.0f}")
        for name, bound in figures.items()
    ]
    if not total.unpriced:
        cost = "unbounded" if total.cost == float("inf") else f"at most {total.cost:,.2f} USD"
        rows.append(BoundRow("cost", cost))
    return tuple(rows)
