"""Compile documents into a Plan: read and merge, normalise, shape, check, compile.

This happens before a run, and a run never changes its plan. Each phase collects every problem of
every file; a phase runs only if the earlier phases left it something to work on.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from dsl.checks.agents.streaming_checks import check_streamed_replies
from dsl.checks.budget_checks import BudgetCompiler, PriceOf, prices_of
from dsl.checks.context_declarations import declared_context
from dsl.checks.contracts.outputs import DeclaredOutputs
from dsl.checks.document_checks import check_document
from dsl.checks.tools.agent_cycles import check_cycles
from dsl.compile.concentrators import task_names
from dsl.compile.document_capabilities import with_declarations
from dsl.compile.listed_tools import listed_tools, without_unread_schemas
from dsl.compile.mcp.tool_expansion import with_mcp_tools
from dsl.compile.merged_personas import PersonaMerger
from dsl.compile.merged_sources import SourceText, merged_sources
from dsl.compile.models import PersonaModels
from dsl.compile.persona_checks import PersonaChecks
from dsl.compile.personas import AgentResolver
from dsl.compile.plan_tools import ToolCompiler
from dsl.compile.routes import RouteCompiler
from dsl.compile.shapes import shaped
from dsl.compile.subagents import with_subagents
from dsl.compile.team_compiler import TeamCompiler
from dsl.egress.egress_rules import can_send_private_data
from dsl.errors import InvalidDocument, Problem
from dsl.model.capabilities import Capabilities
from dsl.model.document import Orchestration, SystemDocument
from dsl.model.hooks import Hook
from dsl.model.plan import DEFAULT_MESSAGES, Limits, Plan
from dsl.model.price import Price
from dsl.model.sections.provider_document import ProviderSection
from dsl.model.sections.worker_document import WorkerSection
from dsl.model.terms import AskTerms, asking, channels
from dsl.model.tools.tool_groups import tool_groups
from dsl.normalise.forms import normalised
from dsl.source.nodes import Node, Problems
from dsl.wording.document_wording import orchestration_disabled, orchestration_missing

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
    document, tree = shaped(tree, problems)
    if document is None:
        raise InvalidDocument(problems.errors)
    orchestration = document.orchestration
    if orchestration is None:
        _without_teams(tree, problems)
        raise InvalidDocument(problems.errors)
    capabilities = with_declarations(capabilities, document)
    document, tree = with_mcp_tools(document, capabilities, tree, problems)
    check_document(document, orchestration, tree, problems, capabilities)
    compiler = _PlanCompiler(document, orchestration, tree, problems, capabilities, model)
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


class _PlanCompiler:
    """Compiles the parts of one document, each by its own compiler, into a plan."""

    def __init__(
        self,
        document: SystemDocument,
        orchestration: Orchestration,
        tree: Node,
        problems: Problems,
        capabilities: Capabilities,
        model: str | None,
    ) -> None:
        document, places = with_subagents(document, tree, problems)
        self.document = document
        self.orchestration = orchestration
        self.tree = tree
        self.problems = problems
        self.context = declared_context(orchestration.context, tree, problems)
        names = task_names(orchestration)
        outputs = DeclaredOutputs(
            document, capabilities.skills, self.context, capabilities.mcp_tools
        )
        self.routes = RouteCompiler(orchestration.teams, tree, problems)
        settings = orchestration.settings
        self.checks = PersonaChecks(
            document, tree, problems, capabilities, names, outputs, settings, model
        )
        llm, groups = document.llm_config, tool_groups(document.tools)
        models = PersonaModels(llm, tree, problems, capabilities, model)
        merger = PersonaMerger(llm, tree, problems, models, groups)
        self.agents = AgentResolver(self.checks, merger)
        self.tools = ToolCompiler(document, capabilities, self.agents, places, tree, problems)
        self.teams = TeamCompiler(
            document,
            orchestration,
            tree,
            problems,
            capabilities,
            self.agents,
            self.routes,
            outputs,
            names,
        )
        self.budgets = BudgetCompiler(document, orchestration, tree, problems)

    def plan(self, name: str, price_of: PriceOf | None) -> Plan | None:
        """Compile the plan; None if a problem makes that impossible."""
        self._entry()
        orchestration, agents = self.orchestration, self.agents
        tools = self.tools.tools()
        teams = {key: self.teams.team(key, team) for key, team in orchestration.teams.items()}
        hooks: tuple[Hook, ...] = ()
        if orchestration.hooks:
            hooks = self.checks.run_hooks(orchestration.hooks, agents.personas)
        self.checks.check_unused(agents.used)
        check_cycles(tools, agents.personas, teams, self.tools.places, self.tree, self.problems)
        if orchestration.output is not None:
            self.teams.check_run_output(orchestration.output)
        no_progress, no_progress_terms = asking(orchestration.no_progress)
        self.budgets.check()
        if self.problems.errors:
            return None
        offered = {name for persona in agents.personas.values() for name in persona.tools}
        budgets = self.budgets.budgets(teams, agents.personas, agents.budgets, price_of)
        plan = Plan(
            name=self.document.name or name,
            entry_team=orchestration.entry_team,
            limits=Limits(
                max_total_teams=orchestration.max_total_teams,
                max_recursion_depth=orchestration.max_recursion_depth,
                max_concurrent_branches=orchestration.max_concurrent_branches,
                cancel_timeout=orchestration.cancel_timeout,
                no_progress=no_progress,
                no_progress_terms=no_progress_terms,
                max_messages=orchestration.max_messages or DEFAULT_MESSAGES,
            ),
            budgets=budgets,
            prices=prices_of(budgets, agents.personas, price_of),
            teams=teams,
            personas=agents.personas,
            tools=without_unread_schemas(tools, offered),
            listed_tools=listed_tools(tools, self.tree),
            tool_events=bool(tools),
            groups=orchestration.groups,
            notify=channels(orchestration.notify),
            on_cancel=orchestration.on_cancel,
            output=orchestration.output,
            settings=orchestration.settings,
            context=self.context,
            hooks=hooks,
            legacy_agents=self.document.llm_config.agents if agents.uses_legacy else {},
        )
        if can_send_private_data(plan):
            terms = orchestration.egress_approval or AskTerms()
            plan = plan.model_copy(update={"egress_approval": terms})
        return plan.sealed()

    def _entry(self) -> None:
        path = ("orchestration",)
        if not self.orchestration.enabled:
            place = (*path, "enabled")
            self.problems.note("E504", self.tree.find(place).mark, place, orchestration_disabled())
        self.routes.check_team(self.orchestration.entry_team, (*path, "entry_team"))
        self.routes.check_clean_up(self.orchestration.on_cancel, (*path, "on_cancel"))
