"""Converts every written form of steps and conditions into the one shape of the models.

Works on the tree of nodes, so every position is kept. A form that it cannot read stays unchanged,
and the models refuse it in place.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import get_args

from pydantic import JsonValue

from dsl.evaluate.operators import SHORT_NAMES
from dsl.model.step_kinds.join_policies import MergePolicyName
from dsl.model.steps import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from dsl.normalise import dialect_conditions, dialect_steps, dialects
from dsl.normalise.approval_forms import approval_form
from dsl.normalise.dialects import Here
from dsl.normalise.node_changes import change_below, change_entries, each_entry, each_item
from dsl.normalise.several_calls import calls_as_loop
from dsl.normalise.team_sections import SHORT_TEAMS, section_as_steps
from dsl.problem_details import Advice, UnlistedValue, WrongValue
from dsl.source.nodes import Node, Problems, placed
from dsl.values import Json
from dsl.wording.form_wording import policy_renamed

OUTCOMES = ("all_success", "any_success", "any_failure", "all_failure")

KIND_BY_KEY = {
    "skill": "skill",
    "agent_type": "agent",
    "agent_class": "agent",
    "persona_key": "agent",
    "tool": "tool",
    "calls": "tool",
    "catch": "try",
    "finally": "try",
    "join": "parallel",
    "task_variable": "task_graph",
    "on_failed_task": "task_graph",
    "iterate_on": "loop",
    "while": "loop",
    "until": "loop",
    "body": "loop",
    "steps": "block",
    "branches": "branch",
    "values": "set",
    "approvers": "approval",
    "duration": "wait",
    "signal": "wait",
    "team": "team",
}
"""The keys that imply the kind of a step without `type`."""


def normalised(document: Node, problems: Problems) -> Node:
    """Return the document in the models' shape; report forms that cannot be converted."""
    teams = document.find(("orchestration", "teams")).entries()

    def persona(key: str, node: Node) -> Node:
        return _Normaliser(Here(document, problems), teams).persona(node, key)

    def team(key: str, node: Node) -> Node:
        named = (task.entries().get("name") for task in node.find(("tasks",)).items())
        tasks = tuple(str(name.value) for name in named if name is not None)
        return _Normaliser(Here(document, problems, tasks=tasks), teams).team(node, key)

    def tool(node: Node) -> Node:
        return change_entries(
            node, requires_approval=_Normaliser(Here(document, problems), teams).approval
        )

    document = change_below(document, ("tools",), each_item(tool))
    document = change_below(document, ("llm_config", "personas"), each_entry(persona))
    document = change_below(document, ("orchestration", "budgets"), _amounts)
    run = _Normaliser(Here(document, problems), teams)
    document = change_below(document, ("orchestration", "hooks"), each_item(run.hook))
    return change_below(document, ("orchestration", "teams"), each_entry(team))


def _amounts(node: Node) -> Node:
    """Convert budgets to mappings: a bare amount is the limit of one."""

    def amount(budget: Node) -> Node:
        bare = budget.value is not None and not isinstance(budget.value, dict | list)
        return budget.with_value({"limit": budget}) if bare else budget

    return each_item(amount)(node) if node.entries() else node


@dataclass(frozen=True, slots=True)
class _Normaliser:
    """Normalises one persona or one team, which older forms may refer to."""

    here: Here
    teams: Collection[str]

    def persona(self, node: Node, key: str | None) -> Node:
        """Normalise a persona, or a task's `config`; older forms in its plan may mean it."""
        node = dialects.persona(node, self.here)
        steps = node.find(("execution_plan",))
        here = replace(
            self.here,
            tasks=tuple(dialects.step_names(steps)),
            persona=key,
            variables=dialects.variables(steps),
        )
        return change_entries(
            node,
            execution_plan=each_item(_Normaliser(here, self.teams).step),
            budgets=_amounts,
            hooks=each_item(self.hook),
        )

    def hook(self, node: Node) -> Node:
        return change_entries(node, when=self.condition)

    def team(self, node: Node, key: str) -> Node:
        """Turn a team of type `loop`, `approval` or `chat` into the steps that it is short for."""
        kind = node.entries().get("type")
        if kind is not None and str(kind.value) in SHORT_TEAMS:
            node = section_as_steps(node, key, self.here)
        here = replace(self.here, variables=dialects.variables(node.find(("tasks",))))
        return change_entries(
            node,
            tasks=each_item(_Normaliser(here, self.teams).step),
            budgets=_amounts,
            routing=lambda routing: change_entries(
                routing, rules=each_item(self._rule), default=self._next
            ),
            loop=lambda loop: change_entries(
                loop, while_=self.condition, until=self.condition, break_when=self.condition
            ),
        )

    def _rule(self, node: Node) -> Node:
        return change_entries(
            node, condition=self.condition, next_team=self._next, merge=each_item(self._policy)
        )

    def _policy(self, node: Node) -> Node:
        """Refuse the old name of a merge policy; `append` is an operation of `context_updates`."""
        if node.value != "append":
            return node
        path = placed(self.here.root, node)
        key = path[-1] if path else None
        advice = Advice(policy_renamed())
        details = UnlistedValue(WrongValue(key), "append", get_args(MergePolicyName), advice)
        self.here.problems.note("E105", node.mark, path, details)
        return node.with_value("extend")

    def _next(self, node: Node) -> Node:
        """Convert `next_team: "none"` to null, unless a team has that name."""
        name = node.value
        if isinstance(name, str) and name.lower() == "none" and name not in self.teams:
            return Node(None, node.mark, node.key_mark)
        return node

    def step(self, node: Node) -> Node:
        """Give a step its `kind`, and normalise everything in it."""
        if not node.entries():
            return node
        node = self._with_agent_type(_with_kind(dialect_steps.step(node, self.here)))
        if "calls" in node.entries():
            node = calls_as_loop(node, self.here)
        return change_entries(
            node,
            when=self.condition,
            fail_when=self.condition,
            requires_approval=self.approval,
            while_=self.condition,
            until=self.condition,
            break_when=self.condition,
            config=lambda config: self.persona(config, _persona_key(node)),
            body=each_item(self.step),
            select=each_item(self.step),
            on_failed_task=each_item(self.step),
            otherwise=each_item(self.step),
            branches=self._branches,
            merge=each_item(self._policy),
            steps=each_item(self.step),
            catch=each_item(lambda clause: change_entries(clause, steps=each_item(self.step))),
            finally_=each_item(self.step),
        )

    def approval(self, node: Node) -> Node:
        return approval_form(node, self.here, self.condition)

    def _with_agent_type(self, node: Node) -> Node:
        """Add the default `agent_type`: what the persona has decides it."""
        entries = node.entries()
        written = entries.get("persona_key")
        if written is None or "agent_type" in entries or "agent_class" in entries:
            return node
        config = node.find(("config",)).entries()
        listed = [one.value for one in node.find(("personas",)).items()] or [written.value]

        def said(key: str) -> JsonValue:
            own = config.get(key)
            if own is not None:
                return own.plain()
            return self.here.asked("llm_config", "personas", str(listed[0]), key)

        agent_type = _agent_type({key: said(key) for key in _DECIDING})
        return node.with_value({**entries, "agent_type": written.with_value(agent_type)})

    def _branches(self, node: Node) -> Node:
        """Normalise the branches of a `branch` (a list), or of a `parallel` (a mapping)."""
        if isinstance(node.value, dict):
            return each_item(self._named_branch)(node)
        return each_item(self._case)(node)

    def _case(self, node: Node) -> Node:
        return change_entries(node, condition=self.condition, steps=each_item(self.step))

    def _named_branch(self, node: Node) -> Node:
        """Normalise a branch of a parallel step: a list of steps, or a mapping with one."""
        if isinstance(node.value, dict):
            return change_entries(node, steps=each_item(self.step))
        return each_item(self.step)(node)

    def condition(self, node: Node) -> Node:
        """Normalise a condition: lists are AND, bare strings are outcomes or expressions."""
        match node.value:
            case list() as items:
                parts = [self.condition(item) for item in items]
                return node.with_value({"and": node.with_value(parts)})
            case str() as text:
                key = "outcome" if text.strip() in OUTCOMES else "expression"
                return node.with_value({key: node.with_value(text.strip())})
            case dict():
                return self._mapping(dialect_conditions.condition(node, self.here))
            case _:
                return node

    def _mapping(self, node: Node) -> Node:
        entries = node.entries()
        operator = entries.get("operator")
        if operator is not None and str(operator.value) in SHORT_NAMES:
            full = operator.with_value(SHORT_NAMES[str(operator.value)])
            node = node.with_value({**entries, "operator": full})
        for key in ("and", "or"):
            node = change_below(node, (key,), each_item(self.condition))
        return change_below(node, ("not",), self.condition)


_DECIDING = ("execution_plan", "tools", "subagents", "exclude_tools", "handoffs")
"""The keys of a persona that decide the default `agent_type`."""


def _agent_type(said: Json) -> str:
    """Return the agent type of a persona that has these values of the deciding keys."""
    if said["execution_plan"]:
        return ORCHESTRATING
    tools, subagents, excluded = (
        one if isinstance(one := said[key], list) else []
        for key in ("tools", "subagents", "exclude_tools")
    )
    offered = [name for name in (*tools, *subagents) if name not in excluded]
    return TOOL_CALLING if offered or said["handoffs"] else SINGLE_SHOT


def _persona_key(step: Node) -> str | None:
    key = step.entries().get("persona_key")
    return str(key.value) if key is not None else None


def _with_kind(node: Node) -> Node:
    entries = node.entries()
    if "type" in entries:
        kind = entries["type"]
        rest = {key: item for key, item in entries.items() if key != "type"}
        return node.with_value({"kind": kind, **rest})
    if set(entries) == {"name"}:  # allowed, but the checker warns of it
        empty = {"kind": Node("set", node.mark), "values": Node({}, node.mark)}
        return node.with_value({**empty, **entries})
    known = next((kind for key, kind in KIND_BY_KEY.items() if key in entries), None)
    if known == "branch" and isinstance(entries["branches"].value, dict):
        known = "parallel"
    if known is None or "kind" in entries:
        return node
    return node.with_value({"kind": node.with_value(known), **entries})
