"""Compiles teams: steps checked and resolved, routing, and what the teams read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coterie.dsl.checks.contracts.outputs import DeclaredOutputs
from coterie.dsl.checks.steps.bound_checks import check_bound, with_maximum
from coterie.dsl.checks.steps.context_paths import check_resets
from coterie.dsl.checks.steps.signal_checks import check_signal
from coterie.dsl.checks.steps.step_scope import OutsideReads, StepScope
from coterie.dsl.checks.steps.template_checks import check_value
from coterie.dsl.checks.team_checks import check_max_visits, check_team_type
from coterie.dsl.checks.tools.memory_checks import check_user
from coterie.dsl.compile.agent_resolver import AgentResolver
from coterie.dsl.compile.route_compiler import RouteCompiler
from coterie.dsl.compile.step_checks import check_steps
from coterie.dsl.egress.channel_labels import call_labels
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.document import Orchestration, SystemDocument, TeamDocument
from coterie.dsl.model.plan import BUILT_IN_AGGREGATES, CONCENTRATOR_NAMES, Collect, MaxVisits, Team
from coterie.dsl.model.step_kinds.step_base import terms_of
from coterie.dsl.model.step_kinds.step_list import EachRound, form_of
from coterie.dsl.model.steps import FunctionStep, Step
from coterie.dsl.model.template_bound import TemplateBound
from coterie.dsl.model.traversal.step_bounds import VISITS
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import Json, JsonValue, NodePath


@dataclass(frozen=True)
class TeamCompiler:
    """Compiles and checks the teams of one document."""

    document: SystemDocument
    orchestration: Orchestration
    tree: Node
    problems: Problems
    capabilities: Capabilities
    agents: AgentResolver
    routes: RouteCompiler
    outputs: DeclaredOutputs
    task_names: Mapping[str, Sequence[str]]
    """`{team: the names of its tasks}`."""

    def team(self, team_id: str, team: TeamDocument) -> Team:
        """Compile one team."""
        path: NodePath = ("orchestration", "teams", team_id)
        collect = team.collects
        self._check_settings(team_id, team, collect, path)
        scope = self._scope_of_tasks(team, (*path, "tasks"))
        check_steps(scope)
        steps, agents_read = self.agents.team_steps(team_id, team.tasks, (*path, "tasks"), scope)
        if (team.on_failure or self.orchestration.on_failure) == "ask":
            steps = _asking_about_failures(steps, team.type)
        if team.output is not None:
            output = (*path, "output")
            check_value(scope.of_output(output), team.output, output)
        first: tuple[Step, ...] = ()
        if collect is not None:
            first = _aggregation(collect, self.capabilities, self.tree, self.problems, path)
        routing = self.routes.routing(team, (*path, "routing"), scope)
        resets: tuple[str, ...] = ()
        if team.resets:
            resets = check_resets(team, self.outputs.context, self.tree, self.problems, path)
        max_visits = team.max_visits
        if max_visits is not None:
            max_visits = self._max_visits(team_id, max_visits, (*path, "max_visits"))
        progress = OutsideReads()  # what must change for a visit to make progress
        if self.orchestration.no_progress != "ignore":
            progress.add(scope.reads)
            progress.add(agents_read)
        return Team(
            id=team_id,
            name="" if team.name == team_id else team.name or "",
            steps=(*first, *steps),
            routing=routing,
            max_recursion_depth=team.max_recursion_depth,
            event=team.event,
            max_visits=max_visits,
            stop_on_failure=team.stop_on_failure,
            collects=collect,
            on_cancel=team.on_cancel,
            output=team.output,
            resets=resets,
            reads=("",) if "" in progress.context else tuple(progress.context),
            reads_teams=tuple(progress.teams),
        )

    def _check_settings(
        self, team_id: str, team: TeamDocument, collect: Collect | None, path: NodePath
    ) -> None:
        """Check what the team says besides its tasks and its routes."""
        check_team_type(team_id, team, path, self.tree, self.problems)
        check_max_visits(team_id, self.document, self.tree, self.problems)
        if team.on_cancel is not None:
            self.routes.check_clean_up(team.on_cancel, (*path, "on_cancel"))
        if collect is not None:
            check_signal(self.tree, self.problems, collect.signal, (*path, "collect", "signal"))

    def _scope_of_tasks(self, team: TeamDocument, path: NodePath) -> StepScope:
        return StepScope(
            self.tree,
            self.problems,
            self.capabilities,
            self.task_names,
            team.tasks,
            path,
            inputs=(),
            tools=self.document.tools,
            given=() if team.collects is None else CONCENTRATOR_NAMES,
            outputs=self.outputs.of(team.tasks),
            settings=self.orchestration.settings,
        )

    def check_run_output(self, output: JsonValue) -> None:
        """Report names in the output of the run that cannot have a value."""
        path: NodePath = ("orchestration", "output")
        check_value(self._outside_of_visits(path), output, path)

    def check_user(self, user: str) -> None:
        """Report a user that is neither the starter nor a declared path of the context."""
        path: NodePath = ("orchestration", "user")
        check_user(self.tree, self.problems, user, path)
        check_value(self._outside_of_visits(path), user, path)

    def _max_visits(self, team_id: str, bound: MaxVisits, path: NodePath) -> MaxVisits:
        """Check the limit of a team's `max_visits`, and give it the maximum of its context path."""
        limit, inner_path = bound.limit, (*path, "limit")
        scope = self._outside_of_visits(inner_path)
        if isinstance(limit, TemplateBound):
            check_value(scope, limit.value, (*inner_path, "value"))
        else:
            check_value(scope, limit, inner_path)
        check_bound(scope, called(team_id, "the team"), VISITS, limit, inner_path)
        if not isinstance(limit, str):
            return bound
        limit_with_maximum = with_maximum(VISITS, limit, self.outputs.context)
        return bound.model_copy(update={"limit": limit_with_maximum})

    def _outside_of_visits(self, path: NodePath) -> StepScope:
        """Return the scope of a template that is filled outside of visits: it has no variables."""
        return StepScope(
            self.tree,
            self.problems,
            self.capabilities,
            self.task_names,
            (),
            path,
            inputs=(),
            outputs=self.outputs.of(()),
            settings=self.orchestration.settings,
        )


def _aggregation(
    collect: Collect,
    capabilities: Capabilities,
    tree: Node,
    problems: Problems,
    path: NodePath,
) -> tuple[FunctionStep, ...]:
    """Return the step that makes `aggregate`, if a tool function does it; else no step."""
    if not collect.by_function:
        return ()
    key_path = (*path, "collect", "aggregate")
    functions = capabilities.functions
    contract = functions.get(collect.aggregate)
    if contract is None:
        names = (*BUILT_IN_AGGREGATES, *functions)
        unknown(problems, tree.value_at(key_path), "aggregation", collect.aggregate, names)
        return ()
    arguments: Json = {"branches": "{{ branches }}", "data": "{{ data }}"}
    labels = call_labels(contract, arguments, capabilities.reach)
    step = FunctionStep(
        kind="skill",
        name="aggregate",
        skill=collect.aggregate,
        input=arguments,
        terms=terms_of(contract).model_copy(update={"labels": labels}),
        output_variable="aggregate",
    )
    return (step,)


def _asking_about_failures(steps: Sequence[Step], team_type: str) -> tuple[Step, ...]:
    """Make the tasks of a team ask a person when they fail, unless they set `on_failure`.

    For a team of type `loop` these are the steps in the loop's body. Steps that already decide, or
    let a person decide, do not ask.
    """
    if team_type == "loop":
        return tuple(
            step.with_lists(
                _asking_about_failures(step_list.steps, "standard") for step_list in step.lists()
            )
            if isinstance(form_of(tuple(step.lists())), EachRound)
            else step
            for step in steps
        )
    return tuple(
        step
        if step.on_failure is not None or not step.asks_about_failure
        else step.model_copy(update={"on_failure": "ask"})
        for step in steps
    )
