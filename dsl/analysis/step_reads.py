"""Reads of steps: their conditions, their values, and the prompts of their agents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from coterie.dsl.analysis.template_reads import Read, condition_reads, update_reads, value_reads
from coterie.dsl.analysis.variable_scopes import Bodies, Body, written_at
from coterie.dsl.evaluate.prompt_choice import SYSTEM, asked_prompt
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.facts import OWN_RESULT
from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import PersonaStep, Step, TaskGraphStep
from coterie.dsl.model.template_bound import TemplateBound
from coterie.dsl.model.traversal.step_walk import (
    APPROVAL_CONDITION,
    FILLED_BETWEEN,
    asks_after,
    conditions,
    templated,
)
from coterie.dsl.path_sets import PathSet
from coterie.dsl.paths import Path
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.brace_prompts import braces_to_template
from coterie.dsl.values import NodePath

_ROUNDS = ("while", "until", "break_when")
_AFTER = ("fail_when", "score")


@dataclass(slots=True)
class Guards:
    """The values that conditions have tested before a read, here and around."""

    around: "Guards | None" = None
    asked: PathSet = field(default_factory=PathSet)

    @classmethod
    def of(cls, reads: Iterable[Read], around: "Guards | None" = None) -> "Guards":
        """Return the guards around, and those among the reads."""
        guards = cls(around)
        guards.add(reads)
        return guards

    def add(self, reads: Iterable[Read]) -> None:
        """Add the guards among the reads."""
        self.asked.update(_root(read.path) for read in reads if read.asks)

    def test(self, path: Path) -> bool:
        """Return whether a guard tests for the value at the path."""
        here: Guards | None = self
        while here is not None:
            if here.asked.overlaps(path):
                return True
            here = here.around
        return False


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of the steps of one document."""

    plan: Plan
    tree: Node
    _known: dict[NodePath, list[Read]] = field(default_factory=dict[NodePath, list[Read]])
    _known_after: dict[NodePath, list[Read]] = field(default_factory=dict[NodePath, list[Read]])

    def before(self, step: Step, path: NodePath) -> list[Read]:
        """Return what a step reads before it acts; its own `when` guards these reads."""
        if path not in self._known:
            self._known[path] = self._before(step, path)
        return self._known[path]

    def _before(self, step: Step, path: NodePath) -> list[Read]:
        step_conditions = list(conditions(step, path))
        when = [
            read
            for condition, inner_path in step_conditions[:1]
            if step.when is not None
            for read in condition_reads(condition, inner_path)
        ]
        reads = [
            read
            for condition, inner_path in step_conditions[1 if step.when is not None else 0 :]
            if inner_path[-1] not in (*_ROUNDS, *_AFTER) and not asks_after(step, inner_path)
            for read in _condition(condition, inner_path)
        ]
        for value in templated(step, path):
            if value.path[-1] not in FILLED_BETWEEN:
                reads += value_reads(value.value, value.path)
        if isinstance(step, PersonaStep):
            for agent in step.choices:
                reads += self._prompts(agent, path)
        return [*when, *guarded(reads, Guards.of(when))]

    def certain(self, step: Step, path: NodePath) -> list[Read]:
        """Return what a step reads before it acts, whichever persona a template chooses."""
        reads = self.before(step, path)
        if not isinstance(step, PersonaStep) or not step.personas:
            return reads
        prompts = [{read.path for read in self._prompts(agent, path)} for agent in step.choices]
        unsure = set[Path]().union(*prompts) - prompts[0].intersection(*prompts)
        return [read for read in reads if read.path not in unsure]

    def after(self, step: Step, path: NodePath) -> list[Read]:
        """Return what a step reads once it has acted, except for its own result."""
        if path not in self._known_after:
            self._known_after[path] = self._after(step, path)
        return self._known_after[path]

    def _after(self, step: Step, path: NodePath) -> list[Read]:
        reads = list(update_reads(step.context_updates, (*path, "context_updates")))
        if step.fail_when is not None:
            reads += condition_reads(step.fail_when, (*path, "fail_when"))
        for condition, inner_path in conditions(step, path):
            if asks_after(step, inner_path):
                reads += _condition(condition, inner_path)
        for value in templated(step, path):
            if value.path[-1] in _AFTER:
                reads += value_reads(value.value, value.path)
        return [read for read in reads if read.path[0] not in OWN_RESULT]

    def between(self, step: Step, path: NodePath) -> list[Read]:
        """Return what a loop reads between rounds, and a task graph between its steps."""
        if isinstance(step, TaskGraphStep):
            return [*value_reads(step.chosen, (*path, "chosen")), *self.added(step, path)]
        round_conditions = (pair for pair in conditions(step, path) if pair[1][-1] in _ROUNDS)
        return [
            read
            for condition, inner_path in round_conditions
            for read in condition_reads(condition, inner_path)
        ]

    def added(self, step: Step, path: NodePath) -> list[Read]:
        """Return what a task graph reads after the body of a task."""
        added = step.add if isinstance(step, TaskGraphStep) else None
        return list(value_reads(added, (*path, "add")))

    def _prompts(self, step: PersonaStep, path: NodePath) -> Iterator[Read]:
        """Yield the reads of the prompts sent to the model; a plan's steps read its own prompts."""
        persona = self.plan.personas.get(step.persona_key)
        if persona is None or step.agent_type == ORCHESTRATING:
            return
        prompt_key = asked_prompt(persona.prompts, step.prompt or persona.prompt)
        inputs = tuple(step.input) if isinstance(step.input, dict) else ()
        for key in dict.fromkeys((SYSTEM, prompt_key)):
            text = persona.prompts.get(key) if key is not None else None
            if text is None or key is None:
                continue
            if persona.prompt_syntax == "braces":
                text = braces_to_template(text, inputs)
            yield from value_reads(text, self._prompt_path(step, path, key))

    def _prompt_path(self, step: PersonaStep, path: NodePath, key: str) -> NodePath:
        key_path = written_at(self.tree, step, path, "prompts", key)
        return key_path if self.tree.has(key_path) else path

    def all_of(
        self, steps: Sequence[Step], path: NodePath, around: Guards | None = None
    ) -> Iterator[Read]:
        """Return all reads of steps and nested steps, with the guards around them."""
        for index, step in enumerate(steps):
            here = (*path, index)
            own = self.before(step, here)
            yield from guarded(own, around)
            guards = Guards.of(own, around)
            rounds = self.between(step, here)
            yield from guarded(rounds, guards)
            within = Guards.of(rounds, guards)
            for inner in step.lists(here):
                yield from self.all_of(inner.steps, inner.path, within)
            yield from guarded(self.after(step, here), guards)

    def body(self, body: Body) -> Iterator[Read]:
        """Return all reads of a body, without the plans that its agents follow."""
        yield from self.all_of(body.steps, body.path)

    def routing(self, team: Team, path: NodePath) -> Iterator[Read]:
        """Return the reads of a team's routing.

        Args:
            team: The team.
            path: The location of its routing.
        """
        routing = team.routing
        if routing is None:
            return
        yield from update_reads(routing.context_updates, (*path, "context_updates"))
        guards = Guards()
        for number, rule in enumerate(routing.rules):
            here = (*path, "rules", number)
            if rule.condition is not None:
                own = list(condition_reads(rule.condition, (*here, "condition")))
                yield from guarded(own, guards)
                guards.add(own)
            updates = update_reads(rule.context_updates, (*here, "context_updates"))
            yield from guarded(updates, guards)

    def team(self, bodies: Bodies, team: Team, path: NodePath) -> Iterator[Read]:
        """Return all reads of a visit of a team, including its agents' plans and prompts."""
        if team.max_visits is not None:
            limit, inner_path = team.max_visits.limit, (*path, "max_visits", "limit")
            text = limit.value if isinstance(limit, TemplateBound) else limit
            yield from value_reads(text, inner_path)
        for body in bodies.within(bodies.teams[team.id]):
            yield from self.body(body)
        yield from self.routing(team, (*path, "routing"))


def guarded(reads: Iterable[Read], guards: Guards | None) -> Iterator[Read]:
    """Mark reads as not needed where a condition before them tests for the value."""
    for read in reads:
        spared = guards is not None and read.needed and guards.test(read.path)
        yield read._replace(needed=False) if spared else read


def _root(path: Path) -> Path:
    """Return the part of a path that a guard must test: a task, team, variable or field."""
    return path if path[0] == "context" else path[:2] if path[0] in ("tasks", "teams") else path[:1]


def _condition(condition: Condition, path: NodePath) -> Iterator[Read]:
    """Yield the reads of a condition; that of an approval needs none: without one, it asks."""
    cares = path[-2:] == APPROVAL_CONDITION
    for read in condition_reads(condition, path):
        yield read._replace(needed=False) if cares else read
