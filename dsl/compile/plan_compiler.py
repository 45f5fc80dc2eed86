"""Compiles the parts of a checked document, each by its own compiler, into a plan."""

from collections.abc import Collection, Mapping, Sequence

from dsl.checks.budget_checks import BudgetCompiler, PriceOf, prices_of
from dsl.checks.context_declarations import declared_context
from dsl.checks.contracts.outputs import DeclaredOutputs
from dsl.checks.paid_personas import PaidPersonas
from dsl.checks.tools.agent_cycles import check_cycles
from dsl.compile.agent_resolver import AgentResolver
from dsl.compile.listed_tools import listed_tools, without_unread_schemas
from dsl.compile.merged_personas import PersonaMerger
from dsl.compile.persona_checks import PersonaChecks
from dsl.compile.persona_models import PersonaModels
from dsl.compile.route_compiler import RouteCompiler
from dsl.compile.team_compiler import TeamCompiler
from dsl.compile.tool_compiler import ToolCompiler
from dsl.egress.egress_rules import can_send_private_data
from dsl.model.capabilities import Capabilities
from dsl.model.document import Orchestration, SystemDocument
from dsl.model.hooks import Hook
from dsl.model.plan import DEFAULT_MESSAGES, Limits, Plan
from dsl.model.terms import AskTerms, channels, limit_reaction
from dsl.model.tools.tool_contract import Tool
from dsl.model.tools.tool_groups import tool_groups
from dsl.source.nodes import Node, Problems
from dsl.values import NodePath


class PlanCompiler:
    """Compiles the parts of one document, each by its own compiler, into a plan."""

    def __init__(
        self,
        document: SystemDocument,
        orchestration: Orchestration,
        tree: Node,
        problems: Problems,
        capabilities: Capabilities,
        model: str | None,
        names: Mapping[str, Sequence[str]],
        tool_paths: Mapping[str, NodePath],
    ) -> None:
        """Prepare the compilers.

        Args:
            document: with a tool for each subagent.
            orchestration: of the document.
            tree: of the document.
            problems: collects the findings.
            capabilities: of the worker and the document.
            model: `provider/model` for every persona instead of its own.
            names: `{team: the names of its tasks}`.
            tool_paths: `{tool: where it is written}`.
        """
        self.document = document
        self.orchestration = orchestration
        self.tree = tree
        self.problems = problems
        self.context = declared_context(orchestration.context, tree, problems)
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
        self.tools = ToolCompiler(document, capabilities, self.agents, tool_paths, tree, problems)
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
        orchestration, agents = self.orchestration, self.agents
        tools = self.tools.tools()
        teams = {key: self.teams.team(key, team) for key, team in orchestration.teams.items()}
        self._check_teams_of_run()
        hooks = self._run_hooks()
        self.checks.check_unused(agents.used)
        check_cycles(tools, agents.personas, teams, self.tools.paths, self.tree, self.problems)
        if orchestration.output is not None:
            self.teams.check_run_output(orchestration.output)
        self.budgets.check()
        if self.problems.errors:
            return None
        offered = {name for persona in agents.personas.values() for name in persona.tools}
        paid = PaidPersonas(agents.personas, tools, teams)
        budgets = self.budgets.budgets(paid, agents.budgets, price_of)
        plan = Plan(
            name=self.document.name or name,
            entry_team=orchestration.entry_team,
            limits=_limits(orchestration),
            budgets=budgets,
            prices=prices_of(budgets, paid, price_of),
            teams=teams,
            personas=agents.personas,
            tools=without_unread_schemas(tools, offered),
            listed_tools=listed_tools(tools, self.tree),
            tool_events=bool(tools),
            narrow_grants=_nests_grants(tools.values()),
            groups=orchestration.groups,
            notify=channels(orchestration.notify),
            on_cancel=orchestration.on_cancel,
            output=orchestration.output,
            settings=orchestration.settings,
            context=self.context,
            hooks=hooks,
            legacy_agents=self.document.llm_config.agents if agents.uses_legacy else {},
        )
        return self._with_egress_approval(plan).with_digest()

    def _check_teams_of_run(self) -> None:
        """Check the teams with which a run begins, and cleans up."""
        run, path = self.orchestration, ("orchestration",)
        self.routes.check_team(run.entry_team, (*path, "entry_team"))
        if run.on_cancel is not None:
            self.routes.check_clean_up(run.on_cancel, (*path, "on_cancel"))

    def _run_hooks(self) -> tuple[Hook, ...]:
        hooks = self.orchestration.hooks
        return self.checks.run_hooks(hooks, self.agents.personas) if hooks else ()

    def _with_egress_approval(self, plan: Plan) -> Plan:
        """Return the plan with the terms by which people allow private data to be sent."""
        if not can_send_private_data(plan):
            return plan
        terms = self.orchestration.egress_approval or AskTerms()
        return plan.model_copy(update={"egress_approval": terms})


def _nests_grants(tools: Collection[Tool]) -> bool:
    """Return whether a tool with grants may be called within another tool."""
    calls_others = any(tool.agent is not None or tool.team is not None for tool in tools)
    return calls_others and any(tool.grants for tool in tools)


def _limits(orchestration: Orchestration) -> Limits:
    no_progress, no_progress_terms = limit_reaction(orchestration.no_progress)
    return Limits(
        max_total_teams=orchestration.max_total_teams,
        max_recursion_depth=orchestration.max_recursion_depth,
        max_concurrent_branches=orchestration.max_concurrent_branches,
        cancel_timeout=orchestration.cancel_timeout,
        no_progress=no_progress,
        no_progress_terms=no_progress_terms,
        max_messages=orchestration.max_messages or DEFAULT_MESSAGES,
    )
