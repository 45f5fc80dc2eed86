"""Older forms of the C4H family, each with the meaning that its author intended.

Works on nodes, before validation by the models, so that every position is kept. docs/language.md,
"Older forms", lists the forms here; every other form is refused (`dsl.wording.replacements`). Steps
are in `dsl.normalise.dialect_steps`, conditions in `dsl.normalise.condition_forms`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import JsonValue

from dsl.source.nodes import Node, Problems, path_of_node
from dsl.wording.document_wording import no_form_of_plans, not_enabled
from dsl.wording.replacements import REPLACEMENTS

Entries = dict[str, Node]


@dataclass(frozen=True, slots=True)
class Here:
    """The context that an older form refers to implicitly."""

    root: Node
    """The whole document."""
    problems: Problems
    tasks: Collection[str] = ()
    """The tasks of the team, or the steps of the plan, for `{type: simple, field: task.path}`."""
    persona: str | None = None
    """The persona whose plan this is, for `llm_call`."""
    variables: Collection[str] = ()
    """The variables that the steps set, for `field` and plain `{key: value}` conditions."""

    @property
    def document(self) -> JsonValue:
        """The whole document's plain value, for `config_field`."""
        return self.root.plain()

    def value_at(self, *path: str) -> JsonValue:
        """Return the document's value at the path; None if there is none."""
        node: Node | None = self.root
        for segment in path:
            node = None if node is None else node.entries().get(segment)
        return None if node is None else node.plain()


def plan(node: Node, here: Here) -> Node:
    """Convert `execution_plan: {enabled, steps}` to the list of its steps; disabled, to none."""
    entries = node.entries()
    if "steps" not in entries:
        return node
    for key, entry in entries.items():
        if key not in ("enabled", "steps", "description"):
            here.problems.note(
                "E108",
                entry.at,
                path_of_node(here.root, entry),
                no_form_of_plans(key, REPLACEMENTS.get(key)),
            )
    enabled = entries.get("enabled")
    if enabled is not None and not isinstance(enabled.value, bool):
        here.problems.note(
            "E103", enabled.mark, path_of_node(here.root, enabled), not_enabled(enabled.plain())
        )
    off = enabled is not None and enabled.value is False
    return node.with_value([]) if off else entries["steps"]


def persona(node: Node, here: Here) -> Node:
    """Convert a persona of a skill agent: `skill` with its `params` is a plan of one step."""
    entries = dict(node.entries())
    if "execution_plan" in entries:
        entries["execution_plan"] = plan(entries["execution_plan"], here)
    if "skill" in entries and "execution_plan" not in entries:
        skill = entries.pop("skill")
        given = next((entries.pop(key) for key in _GIVEN if key in entries), None)
        entries["execution_plan"] = node.with_value([skill_call(skill, given)])
    return node.with_value(entries) if entries != node.entries() else node


_GIVEN = ("skill_params", "params", "input")


def skill_call(skill: Node, given: Node | None) -> Node:
    """Return the call of a skill agent; without parameters its input is the task's, or all."""
    step = {
        "type": text_node(skill, "skill"),
        "name": text_node(skill, "call"),
        "skill": skill,
        "input": given or text_node(skill, "{{ input or context }}"),
        "output_variable": text_node(skill, "result"),
    }
    return skill.with_value(step)


def text_node(at: Node, text: str) -> Node:
    """Return a text at the position of the node."""
    return Node(text, at.mark)


class WrittenNames(NamedTuple):
    """The names that written steps give, in the order of the steps."""

    steps: list[str]
    """Of the steps themselves, including nested ones."""
    variables: set[str]
    """That they set, in any form."""


def written_names(node: Node, key: str) -> WrittenNames:
    """Return the names that the steps under a key give; a step is a mapping with a name."""
    found = WrittenNames([], set())
    ahead = [steps] if (steps := node.entries().get(key)) is not None else []
    while ahead:
        one = ahead.pop()
        entries = one.entries()
        name = entries.get("name")
        if name is not None:
            if isinstance(name.value, str):
                found.steps.append(name.value)
            kind = entries.get("type")
            more = ("field", "variable") if kind is not None and kind.value == "set_value" else ()
            named = (entries.get(key) for key in (*_NAMING, *more))
            found.variables.update(n.value for n in named if n and isinstance(n.value, str))
            found.variables.update(entries["values"].entries() if "values" in entries else ())
        ahead.extend(reversed((*entries.values(), *one.items())))
    return found


_NAMING = ("output_variable", "output_field", "loop_variable")
