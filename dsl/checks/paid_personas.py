"""The personas whose calls a budget pays for, with those that a persona calls at any depth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.plan import Persona, Team
from coterie.dsl.model.steps import AgentStep, Step, TeamStep, ToolStep
from coterie.dsl.model.tools.tool_contract import AgentTool, TeamTool, Tool
from coterie.dsl.model.traversal.step_walk import walk


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
        found, visited = dict.fromkeys(first), set[str]()
        ahead = list(found)
        for key in ahead:
            persona = self.personas[key]
            names = [*self._of_tools(persona.tools, visited)]
            names += self._of_steps(persona.execution_plan or (), visited)
            for name in names:
                if name in self.personas and name not in found:
                    found[name] = None
                    ahead.append(name)
        return tuple(found)

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
            if isinstance(step, AgentStep):
                yield from (one.persona_key or "" for one in step.choices)
            if isinstance(step, TeamStep):
                yield from self._of_team(step.team, visited)
            if isinstance(step, ToolStep):  # a template may name any tool
                named = (step.tool,) if step.tool in self.tools else tuple(self.tools)
                yield from self._of_tools(named, visited)


def _next_teams(team: Team) -> Iterator[str]:
    if team.routing is None:
        return
    for after in (team.routing.default, *(rule.next_team for rule in team.routing.rules)):
        if after is not None:
            yield from (after,) if isinstance(after, str) else after
