"""Converts every written form of steps and conditions into the one shape of the models.

Works on the tree of nodes, so every position is kept. A form that it cannot read stays unchanged,
and the models refuse it in place.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import get_args

from pydantic import BaseModel, JsonValue

from dsl.evaluate.operators import SHORT_NAMES
from dsl.model.document import ApprovalSection, ChatSection, LoopSection
from dsl.model.step_kinds.join_policies import MergePolicyName
from dsl.model.steps import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from dsl.normalise import dialect_conditions, dialect_steps, dialects
from dsl.normalise.approval_forms import approval_form
from dsl.normalise.chat_teams import WINDOW, chat_team
from dsl.normalise.dialects import Here
from dsl.problem_details import Advice, UnlistedValue, WrongValue
from dsl.source.nodes import Node, Problems, placed
from dsl.values import Json
from dsl.wording.document_wording import section_missing
from dsl.wording.form_wording import policy_renamed
from dsl.wording.session_wording import chat_without_reply, window_without_persona

OUTCOMES = ("all_success", "any_success", "any_failure", "all_failure")

KIND_BY_KEY = {
    "skill": "skill",
    "agent_type": "agent",
    "agent_class": "agent",
    "persona_key": "agent",
    "tool": "tool",
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
        return _in(node, requires_approval=_Normaliser(Here(document, problems), teams).approval)

    document = _below(document, ("tools",), _each(tool))
    document = _below(document, ("llm_config", "personas"), _keyed(persona))
    document = _below(document, ("orchestration", "budgets"), _amounts)
    return _below(document, ("orchestration", "teams"), _keyed(team))


Change = Callable[[Node], Node]


def _below(node: Node, path: tuple[str, ...], change: Change) -> Node:
    if not path:
        return change(node)
    entries = node.entries()
    if path[0] not in entries:
        return node
    changed = _below(entries[path[0]], path[1:], change)
    return node.with_value({**entries, path[0]: changed})


def _each(change: Change) -> Change:
    def every(node: Node) -> Node:
        match node.value:
            case dict() as entries:
                return node.with_value({key: change(item) for key, item in entries.items()})
            case list() as items:
                return node.with_value([change(item) for item in items])
            case _:
                return node

    return every


def _in(node: Node, **changes: Change) -> Node:
    """Change the named entries of the mapping; a trailing underscore is not part of a name."""
    entries = node.entries()
    changed = {
        key: change(entries[key])
        for name, change in changes.items()
        if (key := name.rstrip("_")) in entries
    }
    return node.with_value({**entries, **changed}) if changed else node


def _keyed(change: Callable[[str, Node], Node]) -> Change:
    def every(node: Node) -> Node:
        if not isinstance(node.value, dict):
            return node
        return node.with_value({key: change(key, item) for key, item in node.value.items()})

    return every


def _amounts(node: Node) -> Node:
    """Convert budgets to mappings: a bare amount is the limit of one."""

    def amount(budget: Node) -> Node:
        bare = budget.value is not None and not isinstance(budget.value, dict | list)
        return budget.with_value({"limit": budget}) if bare else budget

    return _each(amount)(node) if node.entries() else node


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
            self.here, tasks=tuple(_names(steps)), persona=key, variables=dialects.variables(steps)
        )
        return _in(node, execution_plan=_each(_Normaliser(here, self.teams).step), budgets=_amounts)

    def team(self, node: Node, key: str) -> Node:
        """Turn a team of type `loop`, `approval` or `chat` into the steps that it is short for."""
        node = _desugared(node, key, self.here)
        here = replace(self.here, variables=dialects.variables(node.find(("tasks",))))
        return _in(
            node,
            tasks=_each(_Normaliser(here, self.teams).step),
            budgets=_amounts,
            routing=lambda routing: _in(routing, rules=_each(self._rule), default=self._next),
            loop=lambda loop: _in(
                loop, while_=self.condition, until=self.condition, break_when=self.condition
            ),
        )

    def _rule(self, node: Node) -> Node:
        return _in(node, condition=self.condition, next_team=self._next, merge=_each(self._policy))

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
        return dialects.next_team(node, self.teams)

    def step(self, node: Node) -> Node:
        """Give a step its `kind`, and normalise everything in it."""
        if not node.entries():
            return node
        node = self._with_agent_type(_with_kind(dialect_steps.step(node, self.here)))
        return _in(
            node,
            when=self.condition,
            fail_when=self.condition,
            requires_approval=self.approval,
            while_=self.condition,
            until=self.condition,
            break_when=self.condition,
            config=lambda config: self.persona(config, _persona_key(node)),
            body=_each(self.step),
            select=_each(self.step),
            on_failed_task=_each(self.step),
            otherwise=_each(self.step),
            branches=self._branches,
            merge=_each(self._policy),
            steps=_each(self.step),
            catch=_each(lambda clause: _in(clause, steps=_each(self.step))),
            finally_=_each(self.step),
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
            return _each(self._named_branch)(node)
        way = _each(lambda way: _in(way, condition=self.condition, steps=_each(self.step)))
        return way(node)

    def _named_branch(self, node: Node) -> Node:
        """Normalise a branch of a parallel step: a list of steps, or a mapping with one."""
        if isinstance(node.value, dict):
            return _in(node, steps=_each(self.step))
        return _each(self.step)(node)

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
            node = _below(node, (key,), _each(self.condition))
        return _below(node, ("not",), self.condition)


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


def _names(steps: Node) -> Iterator[str]:
    """Yield the names of written steps, including nested ones."""
    name = steps.entries().get("name")
    if name is not None and isinstance(name.value, str):
        yield name.value
    for below in (*steps.entries().values(), *steps.items()):
        yield from _names(below)


def _persona_key(step: Node) -> str | None:
    key = step.entries().get("persona_key")
    return str(key.value) if key is not None else None


def _desugared(node: Node, team: str, here: Here) -> Node:
    entries = node.entries()
    kind = str(entries["type"].value) if "type" in entries else ""
    if kind not in _SECTIONS:
        return node
    section = entries.get(kind)
    if section is None:
        here.problems.note("E102", node.at, (*placed(here.root, node), kind), section_missing(kind))
        return node
    known = {field.alias or name for name, field in _SECTIONS[kind].model_fields.items()}
    if not isinstance(section.value, dict) or not known.issuperset(section.value):
        return node  # the models refuse it in place
    if kind == "chat":
        if "reply" not in section.value and "persona_key" not in section.value:
            here.problems.note(
                "E102", section.at, (*placed(here.root, section), "reply"), chat_without_reply()
            )
            return node
        named = section.value.get("persona_key")
        for window in (key for key in WINDOW if named is None and key in section.value):
            at = section.value[window]
            details = window_without_persona(window)
            here.problems.note("E107", at.at, placed(here.root, at), details)
        persona = named and here.asked("llm_config", "personas", str(named.value))
        return chat_team(team, node, section, persona or None)
    tasks = entries.get("tasks") or Node([], node.mark)
    made = {"type": Node(kind, section.mark), "name": Node(kind, section.mark)}
    if kind == "loop":
        loop = section.with_value({**made, **section.value, "body": tasks})
        tasks = tasks.with_value([loop])
    else:
        approval = section.with_value({**made, **section.value})
        tasks = tasks.with_value([*tasks.items(), approval])
    rest = {key: item for key, item in entries.items() if key != kind}
    return node.with_value({**rest, "tasks": tasks})


_SECTIONS: dict[str, type[BaseModel]] = {
    "loop": LoopSection,
    "approval": ApprovalSection,
    "chat": ChatSection,
}


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
