"""Steps and personas in every written form: either may contain the other."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple, get_args

from pydantic import JsonValue

from coterie.dsl.model.step_kinds.join_policies import MergePolicy
from coterie.dsl.normalise.condition_forms import condition_form
from coterie.dsl.normalise.form_context import Here
from coterie.dsl.normalise.replacements import REPLACEMENTS
from coterie.dsl.normalise.several_calls import calls_as_loop
from coterie.dsl.normalise.written_steps import function_call, present_step
from coterie.dsl.problem_details import ProblemText, Remove, Replace, rule
from coterie.dsl.problem_texts import Advice, UnlistedValue, WrongValue
from coterie.dsl.source.nodes import Node, Place, change_entries, each_item


def step_form(node: Node, here: Here) -> Node:
    """Give a step its `kind`, and normalise everything in it."""
    if not node.entries():
        return node
    node = present_step(node, here)
    if "calls" in node.entries():
        node = calls_as_loop(node, here)
    condition = partial(condition_form, here=here)
    steps = each_item(partial(step_form, here=here))
    named = node.entries().get("persona_key")
    persona_key = None if named is None else str(named.value)
    return change_entries(
        node,
        {
            **dict.fromkeys(_CONDITIONS, condition),
            "requires_approval": partial(approval_form, here=here),
            "config": partial(persona_form, persona_key, here=here),
            "branches": partial(_branches, here=here),
            "merge": each_item(partial(policy_form, here=here)),
            "catch": each_item(partial(change_entries, changes={"steps": steps})),
            **dict.fromkeys(_STEP_LISTS, steps),
        },
    )


_CONDITIONS = ("when", "fail_when", "while", "until", "break_when")
_STEP_LISTS = ("body", "select", "on_failed_task", "otherwise", "steps", "finally")


def _branches(node: Node, here: Here) -> Node:
    """Normalise the branches of a `branch` (a list), or of a `parallel` (a mapping)."""
    steps = each_item(partial(step_form, here=here))
    if not isinstance(node.value, dict):
        condition = partial(condition_form, here=here)
        changes = {"condition": condition, "steps": steps}
        return each_item(partial(change_entries, changes=changes))(node)

    def named_branch(branch: Node) -> Node:  # a list of steps, or a mapping with one
        has_keys = isinstance(branch.value, dict)
        return change_entries(branch, {"steps": steps}) if has_keys else steps(branch)

    return each_item(named_branch)(node)


def _policy_renamed() -> str:
    return "write `extend`, which joins the lists of the branches"


def policy_form(node: Node, here: Here) -> Node:
    """Refuse the old name of a merge policy; `append` is an operation of `context_updates`."""
    if node.value != "append":
        return node
    path = here.path_of(node)
    key = path[-1] if path else None
    advice = Advice(_policy_renamed(), edit=Replace("append", "extend"))
    details = UnlistedValue(WrongValue(key), "append", get_args(MergePolicy), advice)
    here.problems.report(details, Place(node.mark, path))
    return node.with_value("extend")


_MOMENTS = ("before", "after")


@rule("E108")
def moment_is_not_a_condition(moment: str) -> ProblemText:
    return ProblemText(
        "`when` of `requires_approval` is a condition now; `at` says whether it asks before or "
        "after",
        fix=f"write `at: {moment}`",
    )


def approval_form(node: Node, here: Here) -> Node:
    """Normalise a `requires_approval`; refuse `when: after`, which is now `at: after`."""
    entries = node.entries()
    when = entries.get("when")
    if when is None:
        return node
    if when.value not in _MOMENTS:
        return node.with_value({**entries, "when": condition_form(when, here)})
    details = moment_is_not_a_condition(str(when.value))
    here.problems.report(details, Place(when.at, (*here.path_of(node), "when")))
    rest = {key: item for key, item in entries.items() if key != "when"}
    return node.with_value({"at": when, **rest})


def persona_form(key: str | None, node: Node, here: Here) -> Node:
    """Normalise a persona, or a task's `config`.

    Args:
        key: Of the persona; older forms in its plan may mean it.
        node: The persona.
        here: What its forms may refer to.
    """
    node = _with_plan(node, here)
    names = written_names(node, "execution_plan")
    in_plan = replace(here, tasks=frozenset(names.steps), persona=key, variables=names.variables)
    return change_entries(
        node,
        {
            "execution_plan": each_item(partial(step_form, here=in_plan)),
            "budgets": budget_forms,
            "hooks": each_item(partial(hook_form, here=here)),
        },
    )


def _with_plan(node: Node, here: Here) -> Node:
    """Convert a persona of a function agent: `skill` with its `params` is a plan of one step."""
    entries = dict(node.entries())
    if "execution_plan" in entries:
        entries["execution_plan"] = _steps_of_plan(entries["execution_plan"], here)
    if "skill" in entries and "execution_plan" not in entries:
        function = entries.pop("skill")
        params = next((entries.pop(key) for key in _GIVEN if key in entries), None)
        entries["execution_plan"] = node.with_value([function_call(function, params)])
    return node.with_value(entries) if entries != node.entries() else node


_GIVEN = ("skill_params", "params", "input")


@rule("E108")
def no_form_of_plans(key: str, fix: str | None) -> ProblemText:
    return ProblemText(
        f"{key!r} is not a form of this language",
        fix=fix or f"remove `{key}`: a plan is the list of its steps",
        edit=None if fix else Remove(key),
    )


@rule("E103")
def not_enabled(value: JsonValue) -> ProblemText:
    return ProblemText(f"'enabled' is {value!r}", "true or false")


def _steps_of_plan(node: Node, here: Here) -> Node:
    """Convert `execution_plan: {enabled, steps}` to the list of its steps; disabled, to none."""
    entries = node.entries()
    if "steps" not in entries:
        return node
    for key, entry in entries.items():
        if key not in ("enabled", "steps", "description"):
            here.problems.report(
                no_form_of_plans(key, REPLACEMENTS.get(key)), Place(entry.at, here.path_of(entry))
            )
    enabled = entries.get("enabled")
    if enabled is not None and not isinstance(enabled.value, bool):
        here.problems.report(
            not_enabled(enabled.plain()), Place(enabled.mark, here.path_of(enabled))
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
    names = WrittenNames([], set())
    ahead = [steps] if (steps := node.entries().get(key)) is not None else []
    while ahead:
        part = ahead.pop()
        if isinstance(part.value, list):
            ahead.extend(reversed(part.value))
            continue
        entries = part.entries()
        name = entries.get("name")
        if name is not None:
            if isinstance(name.value, str):
                names.steps.append(name.value)
            kind = entries.get("type")
            more = ("field", "variable") if kind is not None and kind.value == "set_value" else ()
            named = (entries.get(key) for key in (*_NAMING, *more))
            names.variables.update(n.value for n in named if n and isinstance(n.value, str))
            names.variables.update(entries["values"].entries() if "values" in entries else ())
        ahead.extend(reversed(entries.values()))
    return names


_NAMING = ("output_variable", "output_field", "loop_variable")


def hook_form(node: Node, here: Here) -> Node:
    """Normalise the condition of a hook."""
    return change_entries(node, {"when": partial(condition_form, here=here)})


def budget_forms(node: Node) -> Node:
    """Convert budgets to mappings: a bare amount is the limit of one."""

    def amount(budget: Node) -> Node:
        bare = budget.value is not None and not isinstance(budget.value, dict | list)
        return budget.with_value({"limit": budget}) if bare else budget

    return each_item(amount)(node) if node.entries() else node
