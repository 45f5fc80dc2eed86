"""Personas in every written form, and the names that the steps of a plan give."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

from dsl.normalise.condition_forms import condition_form
from dsl.normalise.here import Here
from dsl.normalise.written_steps import skill_call
from dsl.source.nodes import Node, change_entries, each_item, path_of_node
from dsl.wording.document_wording import no_form_of_plans, not_enabled
from dsl.wording.replacements import REPLACEMENTS


class StepForm(Protocol):
    """Normalises a step of a plan; steps also configure personas."""

    def __call__(self, node: Node, here: Here) -> Node:
        """Return the step in the models' shape."""
        ...


def persona_form(key: str | None, node: Node, here: Here, step: StepForm) -> Node:
    """Normalise a persona, or a task's `config`.

    Args:
        key: Of the persona; older forms in its plan may mean it.
        node: The persona.
        here: What its forms may refer to.
        step: Normalises a step.
    """
    node = _with_plan(node, here)
    names = written_names(node, "execution_plan")
    in_plan = replace(here, tasks=tuple(names.steps), persona=key, variables=names.variables)
    return change_entries(
        node,
        execution_plan=each_item(partial(step, here=in_plan)),
        budgets=budget_forms,
        hooks=each_item(partial(hook_form, here=here)),
    )


def _with_plan(node: Node, here: Here) -> Node:
    """Convert a persona of a skill agent: `skill` with its `params` is a plan of one step."""
    entries = dict(node.entries())
    if "execution_plan" in entries:
        entries["execution_plan"] = _steps_of_plan(entries["execution_plan"], here)
    if "skill" in entries and "execution_plan" not in entries:
        skill = entries.pop("skill")
        given = next((entries.pop(key) for key in _GIVEN if key in entries), None)
        entries["execution_plan"] = node.with_value([skill_call(skill, given)])
    return node.with_value(entries) if entries != node.entries() else node


_GIVEN = ("skill_params", "params", "input")


def _steps_of_plan(node: Node, here: Here) -> Node:
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


def hook_form(node: Node, here: Here) -> Node:
    """Normalise the condition of a hook."""
    return change_entries(node, when=partial(condition_form, here=here))


def budget_forms(node: Node) -> Node:
    """Convert budgets to mappings: a bare amount is the limit of one."""

    def amount(budget: Node) -> Node:
        bare = budget.value is not None and not isinstance(budget.value, dict | list)
        return budget.with_value({"limit": budget}) if bare else budget

    return each_item(amount)(node) if node.entries() else node
