"""Compile documents into a Plan: read and merge, normalise, shape, check, compile.

This happens before a run, and a run never changes its plan. Each phase collects every problem of
every file; a phase runs only if the earlier phases left it something to work on.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from dsl.checks.agents.streaming_checks import check_streamed_replies
from dsl.checks.document_checks import check_document
from dsl.compile.concentrators import task_names
from dsl.compile.document_capabilities import with_declarations
from dsl.compile.mcp.tool_expansion import with_mcp_tools
from dsl.compile.merged_sources import SourceText, merged_sources
from dsl.compile.plan_compiler import PlanCompiler
from dsl.compile.shapes import parse_document
from dsl.compile.subagents import with_subagents
from dsl.errors import InvalidDocument, Problem
from dsl.model.capabilities import Capabilities
from dsl.model.plan import Plan
from dsl.model.price import Price
from dsl.model.sections.provider_document import ProviderSection
from dsl.model.sections.worker_document import WorkerSection
from dsl.normalise.forms import normalised
from dsl.source.collected_problems import Problems
from dsl.source.nodes import Node
from dsl.wording.document_wording import orchestration_missing

PriceLookup = Callable[[Mapping[str, ProviderSection], str, str], Price | None]
"""Returns the price of a model, given the document's providers, a provider and a model."""


class Compiled(NamedTuple):
    """The plan for the run, and what stays on the worker."""

    plan: Plan
    worker: WorkerSection
    providers: dict[str, ProviderSection]
    warnings: tuple[Problem, ...]
    tree: Node
    """The merged document, each value with its position."""


def compile_sources(
    sources: Sequence[SourceText],
    capabilities: Capabilities,
    *,
    name: str,
    model: str | None = None,
    pricing: PriceLookup | None = None,
) -> Compiled:
    """Compile the sources into one plan; later sources override earlier ones.

    Args:
        sources: in merge order.
        capabilities: of the worker.
        name: the plan's name, if the document gives none.
        model: `provider/model` for every persona instead of its own.
        pricing: called only if the document has a budget of money.

    Raises:
        InvalidDocument: with every problem of every source.
    """
    problems = Problems()
    tree = normalised(merged_sources(sources, problems), problems)
    document, tree = parse_document(tree, problems)
    if document is None:
        raise InvalidDocument(problems.errors)
    orchestration = document.orchestration
    if orchestration is None:
        _without_teams(tree, problems)
        raise InvalidDocument(problems.errors)
    capabilities = with_declarations(capabilities, document)
    document, tree = with_mcp_tools(document, capabilities, tree, problems)
    check_document(document, orchestration, tree, problems, capabilities)
    names = task_names(orchestration)
    document, tool_paths = with_subagents(document, tree, problems)
    compiler = PlanCompiler(
        document, orchestration, tree, problems, capabilities, model, names, tool_paths
    )
    price_of = None if pricing is None else partial(pricing, document.llm_config.providers)
    plan = compiler.plan(name, price_of)
    if plan is not None and any(persona.stream for persona in plan.personas.values()):
        check_streamed_replies(plan, tree, problems)
    if plan is None or problems.errors:
        raise InvalidDocument(problems.errors)
    worker = document.worker or WorkerSection()
    providers = dict(document.llm_config.providers)
    return Compiled(plan, worker, providers, tuple(problems.warnings), tree)


def _without_teams(tree: Node, problems: Problems) -> None:
    """Note that the document has nothing to run, unless another problem explains it."""
    written = tree.child("orchestration")
    if (written is None or written.value is None) and not problems.errors:
        problems.note("E102", tree.at, (), orchestration_missing())
