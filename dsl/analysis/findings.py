"""Findings about a document before any run, reported like every other problem.

Pure and sound: a finding holds on every path of a run, if steps do what their kind promises.
Undecidable questions produce no finding.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from coterie.dsl.analysis.concurrency.stateful_tools import check_stateful_tools
from coterie.dsl.analysis.context_use import check_unused, context_users, declared_inputs
from coterie.dsl.analysis.dataflow import Flow, Input, check_context
from coterie.dsl.analysis.impossible_conditions import Choices
from coterie.dsl.analysis.labels.grant_findings import check_grants_count
from coterie.dsl.analysis.labels.label_findings import check_labels
from coterie.dsl.analysis.model_settings import check_settings
from coterie.dsl.analysis.required_start_fields import Needs
from coterie.dsl.analysis.routes.team_graph import Teams, team_graph
from coterie.dsl.analysis.routes.unreachable_teams import check_loops, check_reach
from coterie.dsl.analysis.sessions.reply_paths import check_replies
from coterie.dsl.analysis.sessions.stray_replies import check_stray_replies
from coterie.dsl.analysis.step_reads import Reader
from coterie.dsl.analysis.unhandled_failures import check_failures
from coterie.dsl.analysis.variable_scopes import Bodies, bodies
from coterie.dsl.analysis.variables import check_variables
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import Problem
from coterie.dsl.logic.solver import Effort
from coterie.dsl.model.steps import TeamStep
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.author_paths import name_of_path
from coterie.dsl.source.collected_problems import Problems, reading_order
from coterie.dsl.source.nodes import Node


class Analysis(NamedTuple):
    """The results of analysing one document."""

    findings: tuple[Problem, ...]
    """Warnings, in reading order; the compiler's own are not among them."""
    inputs: tuple[Input, ...]
    """The inputs: context fields that the start must provide."""
    needs: Mapping[str, str]
    """`{path of the context: the step that reads it first}`: a start without one is refused."""
    graph: Teams
    bodies: Bodies


def analysed(compiled: Compiled) -> Analysis:
    """Analyse a compiled document."""
    problems = Problems(step_of=partial(name_of_path, compiled.tree))
    plan, tree = compiled.plan, compiled.tree
    parts = bodies(plan, tree)
    effort = Effort(unanswered=dict(compiled.unanswered))
    graph = team_graph(plan, calls(parts), effort)
    reader = Reader(plan, tree)
    check_reach(graph, tree, problems)
    Choices(graph, tree, problems, effort).check(parts)
    check_loops(graph, parts, tree, problems)
    check_failures(graph, tree, problems, effort)
    check_replies(graph, parts, tree, problems, effort)
    check_stray_replies(graph, parts, tree, problems, effort)
    flow = Flow(graph, parts)
    inputs = check_context(graph, parts, reader, flow, tree, problems)
    if plan.context:
        users = context_users(plan, parts, reader)
        inputs = declared_inputs(plan.context, users, tree)
        check_unused(plan.context, users, tree, problems)
    check_variables(parts, reader, tree, problems)
    check_settings(parts, tree, problems)
    vouched = compiled.worker.trusted_paths
    check_labels(plan, graph, parts, effort, tree, problems, vouched)
    check_grants_count(plan, graph, parts, tree, problems)
    check_stateful_tools(plan, graph, parts, tree, problems)
    _name_unanswered(effort, tree, problems)
    all_findings = tuple(sorted(problems.found(), key=reading_order))
    needs = (
        {run_input.path: run_input.team for run_input in inputs if run_input.needed}
        if plan.context
        else Needs(graph, parts, reader, flow).found()
    )
    return Analysis(all_findings, inputs, needs, graph, parts)


_MAX_NAMES_SHOWN = 10


@rule("W531")
def analysis_incomplete(names: Sequence[str], questions: int) -> ProblemText:
    name_list = ", ".join(map(repr, names[:_MAX_NAMES_SHOWN]))
    more = f" and {len(names) - _MAX_NAMES_SHOWN:,} more" if len(names) > _MAX_NAMES_SHOWN else ""
    return ProblemText(
        f"the analysis left out {questions:,} questions about the conditions of {name_list}{more}: "
        "answering them would take too long, so findings about routes there may be missing",
        fix="write fewer or simpler conditions there, or move them to a document of their own",
    )


def _name_unanswered(effort: Effort, tree: Node, problems: Problems) -> None:
    """Report which teams and plans the questions that were left out are about."""
    if effort.unanswered:
        first = next(iter(effort.unanswered))
        names = [str(path[-1]) for path in effort.unanswered]
        details = analysis_incomplete(names, sum(effort.unanswered.values()))
        problems.report(details, tree.key_at(first))


def with_needs(compiled: Compiled, analysis: Analysis | None = None) -> Compiled:
    """Return the document with its plan stating what a start must give.

    Args:
        compiled: The document.
        analysis: Of the document, if it is already analysed.
    """
    if compiled.plan.context:
        return compiled  # it declares what a start must give
    needs = (analysis or analysed(compiled)).needs
    if not needs:
        return compiled
    plan = compiled.plan.model_copy(update={"needs": needs}).with_digest()
    return compiled._replace(plan=plan)


def findings(compiled: Compiled) -> list[Problem]:
    """Return the warnings of the analysis for `validate`, without the compiler's own."""
    return list(analysed(compiled).findings)


def warnings(compiled: Compiled, analysis: Analysis) -> list[Problem]:
    """Return the warnings of the compiler and the analysis, each once, in reading order."""
    problems = dict.fromkeys((*compiled.warnings, *analysis.findings))
    return sorted(problems, key=reading_order)


def calls(parts: Bodies) -> dict[str, tuple[str, ...]]:
    """Map each team to the teams that its steps, and the plans of its agents, run."""
    return {
        team: tuple(
            dict.fromkeys(
                step.team
                for body in parts.within(own)
                for step, _ in body.steps_with_paths
                if isinstance(step, TeamStep)
            )
        )
        for team, own in parts.teams.items()
    }
