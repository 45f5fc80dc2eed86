"""Compiles the parts of a checked document, each by its own compiler, into a plan."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from coterie.dsl.checks.agents.prompt_checks import check_syntax
from coterie.dsl.checks.agents.streaming_checks import check_reasks
from coterie.dsl.checks.budget_checks import BudgetCompiler, PaidPersonas, PriceOf, prices_of
from coterie.dsl.checks.context_declarations import declared_context
from coterie.dsl.checks.contracts.outputs import DeclaredOutputs
from coterie.dsl.checks.format_checks import check_answer_schema
from coterie.dsl.checks.questions_of_document import names_channel
from coterie.dsl.checks.tools.agent_cycles import check_cycles
from coterie.dsl.checks.tools.tool_deferral import WindowOf, with_deferred_tools
from coterie.dsl.checks.tools.vendor_tool_checks import check_offered_schemas, within_vendor_limits
from coterie.dsl.compile.agent_resolver import AgentResolver
from coterie.dsl.compile.merged_personas import PERSONAS, PersonaMerger
from coterie.dsl.compile.persona_checks import PersonaChecks
from coterie.dsl.compile.route_compiler import RouteCompiler
from coterie.dsl.compile.skill_offers import DocumentSkills
from coterie.dsl.compile.step_checks import check_steps
from coterie.dsl.compile.team_compiler import TeamCompiler
from coterie.dsl.compile.tool_compiler import ToolCompiler
from coterie.dsl.egress.egress_rules import can_send_private_data
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.decision_terms import AskTerms, channels, limit_reaction
from coterie.dsl.model.document import Orchestration, SystemDocument
from coterie.dsl.model.plan import DEFAULT_MESSAGES, Limits, Persona, Plan
from coterie.dsl.model.steps import PersonaDocument
from coterie.dsl.model.tools.tool_contract import NestedTool, OneCallTool, Tool
from coterie.dsl.model.tools.tool_groups import tool_groups
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import Json, NodePath


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
        tool_paths: Mapping[str, NodePath],
        skills: DocumentSkills,
    ) -> None:
        """Prepare the compilers.

        Args:
            document: with a tool for each subagent.
            orchestration: of the document.
            tree: of the document.
            problems: collects the findings.
            capabilities: of the worker and the document.
            model: `provider/model` for every persona instead of its own.
            tool_paths: `{tool: where it is written}`.
            skills: what `agent_skills` names.
        """
        self.document = document
        self.orchestration = orchestration
        self.tree = tree
        self.problems = problems
        self.model = model
        self.skills = skills
        names = _task_names(orchestration)
        self.context = declared_context(orchestration.context, tree, problems)
        outputs = DeclaredOutputs(
            document,
            capabilities.functions,
            self.context,
            {**capabilities.server_tools, **capabilities.temporal_calls},
        )
        self.routes = RouteCompiler(orchestration.teams, tree, problems)
        settings = orchestration.settings
        self.checks = PersonaChecks(
            document, tree, problems, capabilities, names, outputs, settings
        )
        llm, groups = document.llm_config, tool_groups(document.tools)
        merger = PersonaMerger(llm, tree, problems, capabilities, model, groups, skills)
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

    def plan(
        self, name: str, price_of: PriceOf | None, window_of: WindowOf | None = None
    ) -> Plan | None:
        """Compile the plan; None if a problem makes that impossible."""
        orchestration, agents = self.orchestration, self.agents
        tools = self.tools.tools() if self.document.tools else {}
        teams = {key: self.teams.team(key, team) for key, team in orchestration.teams.items()}
        hooks = orchestration.hooks
        compiled_hooks = self.checks.run_hooks(hooks, agents.personas) if hooks else ()
        self._check_teams_of_run()
        _check_unused_personas(self.checks, agents.used, self.model)
        check_cycles(tools, agents.personas, teams, self.tools.paths, self.tree, self.problems)
        if orchestration.output is not None:
            self.teams.check_run_output(orchestration.output)
        if orchestration.user is not None:
            self.teams.check_user(orchestration.user)
        self.budgets.check()
        if self.problems.errors:
            return None
        sections = self.document.llm_config.providers
        personas = with_deferred_tools(agents.personas, tools, sections, window_of)
        personas = within_vendor_limits(personas, tools, sections, self.tree, self.problems)
        check_offered_schemas(tools, personas, sections, self.tools.paths, self.tree, self.problems)
        offered = {name for persona in personas.values() for name in persona.tools}
        paid = PaidPersonas(agents.personas, tools, teams)
        budgets = self.budgets.budgets(paid, agents.budgets, price_of)
        prices = prices_of(budgets, paid, price_of)
        plan = Plan(
            name=self.document.name or name,
            entry_team=orchestration.entry_team,
            budgets=budgets,
            prices=prices,
            teams=teams,
            personas=personas,
            tools=_without_unread_schemas(tools, offered),
            skills=self.skills.planned(
                name for persona in personas.values() for name in persona.agent_skills
            ),
            listed_tools=_listed_tools(tools, self.tree),
            tool_events=bool(tools),
            narrow_grants=_nests_grants(tools.values()),
            groups=orchestration.groups,
            limits=_limits(orchestration),
            notify=channels(orchestration.notify),
            on_cancel=orchestration.on_cancel,
            output=orchestration.output,
            user=orchestration.user,
            settings=orchestration.settings,
            context=self.context,
            hooks=compiled_hooks,
            legacy_agents=self.document.llm_config.agents if agents.uses_legacy else {},
        )
        notifies = names_channel(self.document, orchestration)
        if can_send_private_data(plan, notifies=notifies):  # by these terms, people allow it
            terms = orchestration.egress_approval or AskTerms()
            plan = plan.model_copy(update={"egress_approval": terms})
        return plan.with_digest()

    def _check_teams_of_run(self) -> None:
        """Check the teams with which a run begins, and cleans up."""
        run, path = self.orchestration, ("orchestration",)
        self.routes.check_team(run.entry_team, (*path, "entry_team"))
        if run.on_cancel is not None:
            self.routes.check_clean_up(run.on_cancel, (*path, "on_cancel"))


def _task_names(orchestration: Orchestration) -> dict[str, tuple[str, ...]]:
    """Return `{team: the names of its tasks}`, with nested ones and the one that aggregates."""
    names: dict[str, tuple[str, ...]] = {}
    for team_id, team in orchestration.teams.items():
        collects = team.collects
        added = ("aggregate",) if collects is not None and collects.by_function else ()
        names[team_id] = (*(step.name for step, _ in walk(team.tasks, ())), *added)
    return names


def _check_unused_personas(
    checks: PersonaChecks, used_keys: Collection[str], model: str | None
) -> None:
    """Report the problems of personas that every task using them would have.

    Args:
        checks: of the document's personas.
        used_keys: the keys of those that an agent uses.
        model: of every persona instead of its own, if one is set.
    """
    for key, persona in checks.document.llm_config.personas.items():
        if key in used_keys:
            continue
        path = (*PERSONAS, key)
        if model is None:
            _check_written_model(checks, persona, path)
        _check_persona(checks, persona, path)


def _check_persona(checks: PersonaChecks, persona: PersonaDocument, path: NodePath) -> None:
    tree, problems = checks.tree, checks.problems
    check_answer_schema(persona.output_schema, (*path, "output_schema"), tree, problems)
    if persona.stream:
        reasks = Persona.model_fields["max_reasks"].default
        reasks = reasks if persona.max_reasks is None else persona.max_reasks
        check_reasks(persona.output_schema, reasks, (*path, "stream"), tree, problems)
    check_syntax(
        tree,
        problems,
        persona.prompts or {},
        persona.prompt_syntax,
        lambda key: (*path, "prompts", key),
    )
    if persona.execution_plan is not None:
        scope = checks.plan_scope(persona.execution_plan, (*path, "execution_plan"))
        # The personas of a catalog serve many projects, and each has commands of its own.
        unknown_here = {"commands": None, "channels": None}
        capabilities = checks.capabilities.model_copy(update=unknown_here)
        check_steps(replace(scope, capabilities=capabilities))


def _check_written_model(checks: PersonaChecks, persona: PersonaDocument, path: NodePath) -> None:
    """Check the provider and the model that a persona names itself, without defaults."""
    tree, problems, llm = checks.tree, checks.problems, checks.document.llm_config
    providers, provider = checks.capabilities.providers, persona.provider
    if provider is not None and provider not in providers:
        where = (*path, "provider")
        unknown(problems, tree.value_at(where), "provider", provider, providers)
        return
    section = llm.providers.get(str(llm.defaults.choose(provider, persona.model).provider))
    valid = section.valid_models if section is not None else ()
    if persona.model is not None and valid and persona.model not in valid:
        where = (*path, "model")
        unknown(problems, tree.value_at(where), "model", persona.model, valid)


def _nests_grants(tools: Collection[Tool]) -> bool:
    """Return whether a tool with grants may be called within another tool."""
    calls_others = any(isinstance(tool, NestedTool) for tool in tools)
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


_READS_TOOLS = re.compile(r"\{[{%].*\btools\b", re.DOTALL)


def _listed_tools(tools: Mapping[str, Tool], tree: Node) -> list[Json] | None:
    """Return `{name, description, input_schema}` of each tool, for prompts that describe them.

    None if no template can read them, so that the plan does not hold them twice.
    """
    if not _reads_tools(tree):
        return None
    return [
        {
            "name": name,
            "description": tool.description,
            "input_schema": tool.input_schema or {"type": "object"},
        }
        for name, tool in tools.items()
    ]


def _reads_tools(node: Node) -> bool:
    match node.value:
        case str() as text:
            return _READS_TOOLS.search(text) is not None
        case dict() as entries:
            return any(map(_reads_tools, entries.values()))
        case list() as items:
            return any(map(_reads_tools, items))
        case _:
            return False


def _without_unread_schemas(tools: Mapping[str, Tool], offered: Collection[str]) -> dict[str, Tool]:
    """Drop the schemas of tools that no model may call: every history has the plan.

    Args:
        tools: All tools of the document.
        offered: The names of those that some model may call.
    """
    return {
        name: tool.model_copy(update={"input_schema": None, "offered_schema": None})
        if isinstance(tool, OneCallTool) and name not in offered
        else tool
        for name, tool in tools.items()
    }
