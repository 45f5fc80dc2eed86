"""Documents -> Plan: references resolved, personas merged, every problem told at once.

Outside of any run: what this refuses never starts, and what it made never changes.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from dsl.checks.agent_classes import check_agent_classes
from dsl.checks.approval_checks import check_approvals
from dsl.checks.budget_checks import BudgetCompiler, Priced
from dsl.checks.command_checks import check_command
from dsl.checks.consent_checks import checked_by, of_contract
from dsl.checks.contract_checks import check_input
from dsl.checks.keys_without_effect import check_without_effect
from dsl.checks.outputs import DeclaredOutputs
from dsl.checks.reference_checks import EARLIER, Checker
from dsl.checks.step_checks import check_signal
from dsl.checks.unexpanded_templates import refuse_control_characters, refuse_unfilled
from dsl.checks.unread_keys import check_unread_keys
from dsl.compile.personas import AgentResolver, SchemaProblem
from dsl.compile.routes import RouteCompiler
from dsl.compile.shapes import shaped
from dsl.errors import InvalidDocument, Problem
from dsl.model.capabilities import Capabilities
from dsl.model.document import (
    Orchestration,
    ProviderSection,
    SystemDocument,
    TeamDocument,
    WorkerSection,
)
from dsl.model.failure_policy import asking_about_failures
from dsl.model.plan import Collect, Limits, Plan, Team, Tool
from dsl.model.step_walk import walk
from dsl.model.steps import SkillStep, SkillTerms, Step
from dsl.model.terms import asking, channels
from dsl.normalise.forms import normalised
from dsl.source.nodes import Node, Problems, overlaid
from dsl.source.secrets import refuse_secrets
from dsl.source.unknown_names import unknown
from dsl.source.yaml_reader import REPEATED, read_with_repeated
from dsl.values import Json, NodePath

Pricing = Callable[[Mapping[str, ProviderSection], str, str], bool]
"""Whether a model has a price: the document's providers, the provider's name, the model's."""


class SourceText(NamedTuple):
    """One file of a document."""

    file: str
    text: str
    trusted: bool = True
    """False for what came with a run: it may not say how the worker reaches the world."""
    persona: str | None = None
    """The file is one persona of this key."""


class Compiled(NamedTuple):
    """The plan for the run, and what stays on the worker."""

    plan: Plan
    worker: WorkerSection
    providers: dict[str, ProviderSection]
    warnings: tuple[Problem, ...]
    tree: Node
    """The merged document, every value with its place."""


def compile_sources(
    sources: Sequence[SourceText],
    capabilities: Capabilities,
    *,
    name: str,
    model: str | None = None,
    schema_problem: SchemaProblem,
    pricing: Pricing | None = None,
) -> Compiled:
    """Compile the sources, later ones laid over earlier ones, into one plan.

    Args:
        sources: in merge order.
        capabilities: what the worker has.
        name: what the run will call the plan, when the document gives no name.
        model: `provider/model` for every persona instead of its own.
        schema_problem: checks an `output_schema`.
        pricing: what is known of prices, asked only where a budget is of money.

    Raises:
        InvalidDocument: with every problem of every source.
    """
    problems = Problems()
    tree = normalised(_merged(sources, problems), problems)
    document, tree = shaped(tree, problems)
    if document is None:
        raise InvalidDocument(problems.errors)
    compiler = _Compiler(document, tree, problems, capabilities, model, schema_problem)
    priced = None if pricing is None else partial(pricing, document.llm_config.providers)
    plan = compiler.plan(name, priced)
    if plan is None or problems.errors:
        raise InvalidDocument(problems.errors)
    worker = document.worker or WorkerSection()
    providers = dict(document.llm_config.providers)
    return Compiled(plan, worker, providers, tuple(problems.warnings), tree)


def _merged(sources: Sequence[SourceText], problems: Problems) -> Node:
    merged: Node | None = None
    for source in sources:
        try:
            tree, repeated = read_with_repeated(source.text, source.file)
            problems.found.extend(repeated)
        except InvalidDocument as error:
            problems.found.extend(error.problems)
            continue
        if source.persona is not None:
            tree = _nested(tree, "llm_config", "personas", source.persona)
        if not source.trusted:
            _refuse_untrusted(tree, problems)
        merged = tree if merged is None else overlaid(merged, tree)
    if problems.errors and (
        merged is None or any(p.code < "E101" and p.code != REPEATED for p in problems.errors)
    ):
        raise InvalidDocument(problems.errors)
    if merged is None:
        raise InvalidDocument([Problem("E004", "document", 1, 1, "", "there is no document")])
    return merged


def _nested(tree: Node, *keys: str) -> Node:
    for key in reversed(keys):
        tree = Node({key: tree}, tree.mark)
    return tree


def _refuse_untrusted(tree: Node, problems: Problems) -> None:
    for path in (("worker",), ("llm_config", "providers")):
        node = tree.find(path)
        if node is not tree.find(path[:-1]):
            problems.add(
                "E601", node.at, path, f"{'.'.join(path)} is decided by the worker alone: a run "
                "may name a provider or a command, never say how it is reached",
                fix="put it into the worker's own configuration",
            )  # fmt: skip


class _Compiler:
    """One compilation: the document, its tree, and what was found wrong so far."""

    def __init__(
        self,
        document: SystemDocument,
        tree: Node,
        problems: Problems,
        capabilities: Capabilities,
        model: str | None,
        schema_problem: SchemaProblem,
    ) -> None:
        self.document = document
        self.tree = tree
        self.problems = problems
        self.capabilities = _with_commands(capabilities, document)
        self.model = model
        self.schema_problem = schema_problem

    def plan(self, name: str, priced: Priced | None) -> Plan | None:
        """The plan, or None when a problem left no way to make one."""
        orchestration = self.document.orchestration
        if orchestration is None:
            written = self.tree.child("orchestration")
            if (written is None or written.value is None) and not self.problems.errors:
                self.problems.add(
                    "E102", self.tree.at, (), "the key 'orchestration' is missing",
                    fix="add `orchestration:` with `entry_team` and `teams`",
                )  # fmt: skip
            return None
        refuse_secrets(self.tree, self.problems)
        refuse_unfilled(self.document, self.tree, self.problems)
        refuse_control_characters(self.document, self.tree, self.problems)
        check_without_effect(self.document, self.tree, self.problems)
        check_agent_classes(self.document, self.tree, self.problems, self.capabilities)
        check_unread_keys(self.document, self.tree, self.problems)
        self.task_names = task_names(orchestration)
        self.routes = RouteCompiler(orchestration, self.tree, self.problems)
        self._orchestration(orchestration)
        self.outputs = DeclaredOutputs(self.document, self.capabilities.skills)
        tools = self._tools()
        agents = AgentResolver(
            self.document, self.tree, self.problems, self.capabilities, self.model,
            self.schema_problem, self.task_names, self.outputs,
        )  # fmt: skip
        teams = {
            team_id: self._team(team_id, team, agents, orchestration)
            for team_id, team in orchestration.teams.items()
        }
        agents.check_unused()
        check_approvals(
            self.document, orchestration, self.tree, self.problems, self.schema_problem,
            self.capabilities.channels,
        )  # fmt: skip
        budgets = BudgetCompiler(self.document, orchestration, self.tree, self.problems)
        budgets.check()
        if self.problems.errors:
            return None
        no_progress, no_progress_terms = asking(orchestration.no_progress)
        return Plan(
            name=self.document.name or name,
            entry_team=orchestration.entry_team,
            limits=Limits(
                max_total_teams=orchestration.max_total_teams,
                max_recursion_depth=orchestration.max_recursion_depth,
                max_concurrent_branches=orchestration.max_concurrent_branches,
                cancel_timeout=orchestration.cancel_timeout,
                no_progress=no_progress,
                no_progress_terms=no_progress_terms,
            ),
            budgets=budgets.budgets(teams, agents.personas, agents.budgets, priced),
            teams=teams,
            personas=agents.personas,
            tools=tools,
            groups=orchestration.groups,
            notify=channels(orchestration.notify),
            on_cancel=orchestration.on_cancel,
            legacy_agents=self.document.llm_config.agents if agents.uses_legacy else {},
        ).sealed()

    def _orchestration(self, orchestration: Orchestration) -> None:
        path: NodePath = ("orchestration",)
        if not orchestration.enabled:
            node = self.tree.find((*path, "enabled"))
            self.problems.add("E504", node.mark, (*path, "enabled"), "orchestration is disabled",
                              fix="set `enabled: true` to run it")  # fmt: skip
        self.routes.check_team(orchestration.entry_team, (*path, "entry_team"))
        self.routes.check_clean_up(orchestration.on_cancel, (*path, "on_cancel"))

    def _team(
        self, team_id: str, team: TeamDocument, agents: AgentResolver, orchestration: Orchestration
    ) -> Team:
        path: NodePath = ("orchestration", "teams", team_id)
        self._type(team_id, team, path)
        self.routes.check_clean_up(team.on_cancel, (*path, "on_cancel"))
        collects = _collects(team)
        if collects is not None:
            check_signal(self.tree, self.problems, collects.signal, (*path, "collect", "signal"))
        checker = Checker(
            self.tree, self.problems, self.capabilities, self.task_names, team.tasks,
            (*path, "tasks"), inputs=(), tools=self.document.tools,
            given=() if collects is None else CONCENTRATOR_NAMES,
            outputs=self.outputs.of(team.tasks),
        )  # fmt: skip
        checker.run()
        steps, reads = agents.team_steps(team_id, team.tasks, (*path, "tasks"), checker)
        if (team.on_failure or orchestration.on_failure) == "ask":
            steps = asking_about_failures(steps, team.type)
        if collects is not None:
            steps = (*self._aggregation(collects, path), *steps)
        routing = self.routes.routing(team, (*path, "routing"), checker)
        watched = orchestration.no_progress != "ignore"
        looked_at = {**checker.reads, **reads} if watched else {}
        context = tuple(path for path in looked_at if not path.startswith(EARLIER))
        earlier = tuple(p.removeprefix(EARLIER) for p in looked_at if p.startswith(EARLIER))
        return Team(
            id=team_id,
            name="" if team.name == team_id else team.name or "",
            steps=steps,
            routing=routing,
            max_recursion_depth=team.max_recursion_depth,
            stop_on_failure=team.stop_on_failure,
            collects=collects,
            on_cancel=team.on_cancel,
            reads=("",) if "" in context else context,
            reads_teams=earlier,
        )

    def _type(self, team_id: str, team: TeamDocument, path: NodePath) -> None:
        """A team has what its type needs, and no other type's section."""
        if self.problems.has("E105", (*path, "type")):
            return  # nobody knows which type is meant
        misfits = any(self.problems.below((*path, "tasks")))
        if not team.tasks and team.type != "concentrator" and not misfits:
            self.problems.add("E102", self.tree.find(path).at, (*path, "tasks"),
                              f"the team {team_id!r} has no tasks", fix="add `tasks:`")  # fmt: skip
        sections = {"loop": team.loop, "approval": team.approval, "concentrator": team.collect}
        for type_name, section in sections.items():
            key = "collect" if type_name == "concentrator" else type_name
            if section is not None and team.type != type_name:
                self.problems.add(
                    "E107", self.tree.find((*path, key)).at, (*path, key),
                    f"`{key}` belongs to a team of type {type_name!r}, and {team_id!r} is of type "
                    f"{team.type!r}", fix=f"add `type: {type_name}`, or remove `{key}`",
                )  # fmt: skip

    def _aggregation(self, collects: Collect, path: NodePath) -> tuple[Step, ...]:
        """The step that makes `aggregate` when a skill does it."""
        if collects.aggregate in ("list", "merge_dict"):
            return ()
        place = (*path, "collect", "aggregate")
        known = self.capabilities.skills
        contract = known.get(collects.aggregate)
        if contract is None:
            unknown(self.problems, self.tree.find(place).mark, place, "E204", "aggregation",
                    collects.aggregate, ("list", "merge_dict", *known))  # fmt: skip
            return ()
        terms = SkillTerms(
            effect=contract.effect, timeout=contract.timeout, retries=contract.retries
        )
        given: Json = {"branches": "{{ branches }}", "data": "{{ data }}"}
        step = SkillStep(
            kind="skill", name="aggregate", skill=collects.aggregate, input=given, terms=terms,
            output_variable="aggregate",
        )  # fmt: skip
        return (step,)

    def _tools(self) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        for name, section in self.document.tools.items():
            contract = self.capabilities.skills.get(section.skill)
            if contract is None:
                place: NodePath = ("tools", name, "skill")
                unknown(self.problems, self.tree.find(place).mark, place, "E204", "skill",
                        section.skill, self.capabilities.skills)  # fmt: skip
                continue
            terms = SkillTerms(
                effect=contract.effect, timeout=contract.timeout, retries=contract.retries
            )
            declared = of_contract(section.requires_approval, contract, section.fixed)
            approval = checked_by(
                section.requires_approval, declared, ("tools", name, "requires_approval"),
                self.tree, self.problems,
            )  # fmt: skip
            check_command(
                self.capabilities, self.problems, self.tree, section.skill, section.fixed,
                ("tools", name, "fixed"),
            )  # fmt: skip
            check_input(
                self.tree, self.problems, contract, section.fixed, ("tools", name, "fixed"),
                whole=False,
            )  # fmt: skip
            tools[name] = Tool(
                skill=section.skill, description=section.description or contract.description,
                fixed=section.fixed, requires_approval=approval, terms=terms,
            )  # fmt: skip
        return tools


CONCENTRATOR_NAMES = ("branches", "aggregate", "data")
"""The variables that a concentrator's tasks find."""


def _collects(team: TeamDocument) -> Collect | None:
    return (team.collect or Collect()) if team.type == "concentrator" else None


def task_names(orchestration: Orchestration) -> dict[str, tuple[str, ...]]:
    """`{team id: the names of its tasks}`, nested ones too, and the one that aggregates."""
    return {
        team_id: (*(step.name for step, _ in walk(team.tasks, ())), *_aggregating(team))
        for team_id, team in orchestration.teams.items()
    }


def _aggregating(team: TeamDocument) -> tuple[str, ...]:
    collects = _collects(team)
    by_skill = collects is not None and collects.aggregate not in ("list", "merge_dict")
    return ("aggregate",) if by_skill else ()


def _with_commands(capabilities: Capabilities, document: SystemDocument) -> Capabilities:
    """The capabilities, with the document's own commands and providers where it may say them."""
    update: dict[str, object] = {}
    if document.worker is not None:
        known = capabilities.commands or ()
        own = document.worker.commands
        once = (name for name, command in own.items() if command.once)
        update["commands"] = tuple(dict.fromkeys((*known, *own)))
        update["once_commands"] = (*capabilities.once_commands, *once)
        if document.worker.notify:
            known = (*(capabilities.channels or ()), *document.worker.notify)
            update["channels"] = tuple(dict.fromkeys(known))
    providers = (*capabilities.providers, *document.llm_config.providers)
    update["providers"] = tuple(dict.fromkeys(providers))
    return capabilities.model_copy(update=update)
