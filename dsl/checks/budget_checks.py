"""Checks of budgets: is each measurable, does its team exist; and the budgets of the plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coterie.dsl.json_schema.schema_parts import has
from coterie.dsl.model.budgets import Budget, Budgets, BudgetTerms, Scope, compiled, written
from coterie.dsl.model.document import Orchestration, SystemDocument
from coterie.dsl.model.plan import Persona, Team
from coterie.dsl.model.plan_key import PlanKey
from coterie.dsl.model.price import Price
from coterie.dsl.model.steps import LegacyAgentStep, PersonaStep, Step, TeamStep, ToolStep
from coterie.dsl.model.tools.tool_contract import AgentTool, TeamTool, Tool
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.model_names import split_model
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import Json, NodePath


@dataclass(frozen=True, slots=True)
class PaidPersonas:
    """The agents of one plan, and what they may call."""

    personas: Mapping[str, Persona]
    tools: Mapping[str, Tool]
    teams: Mapping[str, Team]

    def of(self, budget: Budget) -> tuple[str, ...]:
        """Return the keys of the personas whose calls the budget may have to pay for."""
        if budget.scope in ("run", "team"):
            return tuple(self.personas)
        return self._callable_personas([key for key in self.personas if budget.covers("", (key,))])

    def _callable_personas(self, first: Sequence[str]) -> tuple[str, ...]:
        """Return these personas, and all that they may call at any depth."""
        keys, visited = dict.fromkeys(first), set[str]()
        ahead = list(keys)
        for key in ahead:
            persona = self.personas[key]
            names = [*self._of_tools(persona.tools, visited)]
            names += self._of_steps(persona.execution_plan or (), visited)
            for name in names:
                if name in self.personas and name not in keys:
                    keys[name] = None
                    ahead.append(name)
        return tuple(keys)

    def _of_tools(self, names: Sequence[str], visited: set[str]) -> Iterator[str]:
        for tool in (self.tools[name] for name in names if name in self.tools):
            if isinstance(tool, AgentTool):
                yield tool.agent
            if isinstance(tool, TeamTool):
                yield from self._of_team(tool.team, visited)

    def _of_team(self, first: str, visited: set[str]) -> Iterator[str]:
        """Yield the personas of a team, and of those to which it leads."""
        ahead = [first]
        for name in ahead:
            if name in visited or name not in self.teams:
                continue
            visited.add(name)
            team = self.teams[name]
            yield from self._of_steps(team.steps, visited)
            ahead += _next_teams(team)

    def _of_steps(self, steps: Sequence[Step], visited: set[str]) -> Iterator[str]:
        for step, _ in walk(steps, ()):
            if isinstance(step, PersonaStep):
                yield from (choice.persona_key for choice in step.choices)
            if isinstance(step, TeamStep):
                yield from self._of_team(step.team, visited)
            if isinstance(step, ToolStep):  # a template may name any tool
                named = (step.tool,) if step.tool in self.tools else tuple(self.tools)
                yield from self._of_tools(named, visited)


def _next_teams(team: Team) -> Iterator[str]:
    if team.routing is None:
        return
    for after in (team.routing.default, *(route.next_team for route in team.routing.rules)):
        if after is not None:
            yield from (after,) if isinstance(after, str) else after


PriceOf = Callable[[str, str], Price | None]
"""Returns the price of a provider's model; None if it has none."""

_PERSONAS: NodePath = ("llm_config", "personas")


@rule("W502")
def no_deadline_of_budget(kind: str) -> ProblemText:
    return ProblemText(
        f"the question of the budget {kind!r} has no deadline: it may wait forever",
        fix="write `on_exceeded: {ask: {deadline: 3d}}`",
    )


@rule("E102")
def budget_route_missing() -> ProblemText:
    return ProblemText(
        "the key 'next_team' is missing: `on_exceeded: route` goes to a team",
        fix="add `next_team:`",
    )


@rule("E107")
def budget_route_to_itself() -> ProblemText:
    return ProblemText(
        "the run leaves this team when the budget is used up, and this route leads back into it",
        fix="name another team",
    )


@rule("E107")
def budget_route_unused() -> ProblemText:
    return ProblemText(
        "`next_team` belongs to `on_exceeded: route`",
        fix="add `on_exceeded: route`, or remove `next_team`",
    )


TERMS_KEYS: Json = {
    "if": {"properties": {"on_exceeded": {"const": "route"}}, **has("on_exceeded")},
    "then": {**has("next_team"), "properties": {"next_team": {"type": "string"}}},
    "else": {"properties": {"next_team": {"type": "null"}}},
}
"""The same, as JSON Schema for editors."""


@rule("W511")
def budget_blind_to_legacy(budget: str, agent: str) -> ProblemText:
    return ProblemText(
        f"{budget} does not see what {agent!r} uses: legacy agents report no usage",
        fix="bound `model_calls` or `working_time` too",
    )


@rule("W511")
def budget_without_price(budget: str, provider: str, model: str) -> ProblemText:
    return ProblemText(
        f"{budget} cannot be enforced: {provider}/{model} has no price here, so its first call is "
        "also its last",
        fix=f"set its price in llm_config.providers.{provider}.prices of the worker's "
        "configuration, or bound `tokens` instead",
    )


@dataclass(frozen=True, slots=True)
class BudgetCompiler:
    """The budgets of one document."""

    document: SystemDocument
    orchestration: Orchestration
    tree: Node
    problems: Problems

    def check(self) -> None:
        """Note unknown teams and contradictory keys; also in personas that no task uses."""
        for budgets, path in sections(self.document, self.orchestration):
            for kind, terms in written(budgets):
                self._terms(terms, (*path, kind))

    def budgets(
        self,
        agents: PaidPersonas,
        tasks: Mapping[str, tuple[Budgets, NodePath]],
        price_of: PriceOf | None,
    ) -> tuple[Budget, ...]:
        """Return every budget of the plan, and warn of each that cannot see some of its calls.

        Args:
            agents: of the plan.
            tasks: `{plan key of a task's persona: the task's own budgets and their place}`.
            price_of: returns the price of a model; None if prices are not known here.
        """
        plan_budgets: list[Budget] = []
        personas = {PlanKey(key).persona for key in agents.personas}
        for scope, name, budgets, path in _budgets_with_owners(self.document, self.orchestration):
            if scope == "persona" and name not in personas:
                continue
            plan_budgets += self._warn_of_blind_spots(
                compiled(budgets, scope, name), path, agents, price_of
            )
        for key, (budgets, path) in tasks.items():
            plan_budgets += self._warn_of_blind_spots(
                compiled(budgets, "task", key), path, agents, price_of
            )
        return tuple(plan_budgets)

    def _terms(self, terms: BudgetTerms, path: NodePath) -> None:
        mark = self.tree.find(path).at
        if terms.on_exceeded == "ask":
            key_path = (*path, "on_exceeded")
            self.problems.report(no_deadline_of_budget(str(path[-1])), self.tree.key_at(key_path))
        if terms.on_exceeded == "route":
            if terms.next_team is None:
                self.problems.report(budget_route_missing(), Place(mark, (*path, "next_team")))
            elif terms.next_team not in self.orchestration.teams:
                key_path = (*path, "next_team")
                unknown(
                    self.problems,
                    self.tree.value_at(key_path),
                    "team",
                    terms.next_team,
                    self.orchestration.teams,
                )
            elif path[:4] == ("orchestration", "teams", terms.next_team, "budgets"):
                self.problems.report(
                    budget_route_to_itself(), Place(self.tree.find((*path, "next_team")).mark, path)
                )
        elif terms.next_team is not None:
            self.problems.report(budget_route_unused(), self.tree.key_at((*path, "next_team")))

    def _warn_of_blind_spots(
        self,
        budgets: tuple[Budget, ...],
        path: NodePath,
        agents: PaidPersonas,
        price_of: PriceOf | None,
    ) -> tuple[Budget, ...]:
        """Warn of what the budgets cannot see; return them."""
        for budget in budgets:
            if budget.kind not in ("tokens", "money"):
                continue
            key_path = (*path, budget.kind)
            legacy = _legacy(budget, agents.teams)
            if legacy is not None:
                self.problems.report(
                    budget_blind_to_legacy(budget.description, legacy), self.tree.key_at(key_path)
                )
            for provider, model in _models_without_price(budget, agents, price_of):
                self.problems.report(
                    budget_without_price(budget.description, provider, model),
                    self.tree.key_at(key_path),
                )
        return budgets


def sections(
    document: SystemDocument, orchestration: Orchestration
) -> Iterator[tuple[Budgets, NodePath]]:
    """Yield every section of budgets in the document, with its place."""
    for _, _, budgets, path in _budgets_with_owners(document, orchestration):
        if budgets is not None:
            yield budgets, path
    for step, path in document.steps:
        if isinstance(step, PersonaStep) and step.config and step.config.budgets:
            yield step.config.budgets, (*path, "config", "budgets")


def _budgets_with_owners(
    document: SystemDocument, orchestration: Orchestration
) -> Iterator[tuple[Scope, str, Budgets | None, NodePath]]:
    yield "run", "", orchestration.budgets, ("orchestration", "budgets")
    for name, team in orchestration.teams.items():
        yield "team", name, team.budgets, ("orchestration", "teams", name, "budgets")
    for name, persona in document.llm_config.personas.items():
        yield "persona", name, persona.budgets, (*_PERSONAS, name, "budgets")


def _legacy(budget: Budget, teams: Mapping[str, Team]) -> str | None:
    """Return the first legacy agent whose calls the budget should see."""
    if budget.scope not in ("run", "team"):
        return None
    for team in teams.values():
        for step, _ in walk(team.steps, ()):
            if isinstance(step, LegacyAgentStep) and budget.covers(team.id, ()):
                return step.name
    return None


def _models_without_price(
    budget: Budget, agents: PaidPersonas, price_of: PriceOf | None
) -> list[tuple[str, str]]:
    """Return the models without a price whose calls a money budget may have to pay for."""
    if price_of is None:
        return []
    return [model for model in _paid_models(budget, agents) if price_of(*model) is None]


def prices_of(
    budgets: Iterable[Budget], agents: PaidPersonas, price_of: PriceOf | None
) -> dict[str, Price]:
    """Return `{"provider/model": price}` of the models that budgets of money may have to pay for.

    A run estimates the cost of a call by it; what the call has cost, its worker reports.
    """
    if price_of is None:
        return {}
    models = (model for budget in budgets for model in _paid_models(budget, agents))
    prices = {f"{provider}/{model}": price_of(provider, model) for provider, model in models}
    return {name: price for name, price in prices.items() if price is not None}


def _paid_models(budget: Budget, agents: PaidPersonas) -> list[tuple[str, str]]:
    """Return the models whose calls a budget of money may have to pay for."""
    if budget.kind != "money":
        return []
    personas = (agents.personas[key] for key in agents.of(budget))
    models = (split_model(model) for persona in personas for model in persona.models)
    return list(dict.fromkeys(models))
