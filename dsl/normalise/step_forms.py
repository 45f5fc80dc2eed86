"""Steps in every written form: the one shape of the models."""

from functools import partial
from typing import get_args

from dsl.model.step_kinds.join_policies import MergePolicyName
from dsl.normalise.condition_forms import condition_form
from dsl.normalise.here import Here
from dsl.normalise.persona_forms import persona_form
from dsl.normalise.several_calls import calls_as_loop
from dsl.normalise.written_steps import present_step
from dsl.problem_details import Advice, UnlistedValue, WrongValue
from dsl.source.nodes import Node, change_entries, each_item, path_of_node
from dsl.wording.approval_wording import moment_is_not_a_condition
from dsl.wording.form_wording import policy_renamed


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
        when=condition,
        fail_when=condition,
        requires_approval=partial(approval_form, here=here),
        while_=condition,
        until=condition,
        break_when=condition,
        config=partial(persona_form, persona_key, here=here, step=step_form),
        body=steps,
        select=steps,
        on_failed_task=steps,
        otherwise=steps,
        branches=partial(_branches, here=here),
        merge=each_item(partial(policy_form, here=here)),
        steps=steps,
        catch=each_item(partial(change_entries, steps=steps)),
        finally_=steps,
    )


def _branches(node: Node, here: Here) -> Node:
    """Normalise the branches of a `branch` (a list), or of a `parallel` (a mapping)."""
    steps = each_item(partial(step_form, here=here))
    if not isinstance(node.value, dict):
        condition = partial(condition_form, here=here)
        return each_item(partial(change_entries, condition=condition, steps=steps))(node)

    def named_branch(branch: Node) -> Node:  # a list of steps, or a mapping with one
        has_keys = isinstance(branch.value, dict)
        return change_entries(branch, steps=steps) if has_keys else steps(branch)

    return each_item(named_branch)(node)


def policy_form(node: Node, here: Here) -> Node:
    """Refuse the old name of a merge policy; `append` is an operation of `context_updates`."""
    if node.value != "append":
        return node
    path = path_of_node(here.root, node)
    key = path[-1] if path else None
    advice = Advice(policy_renamed())
    details = UnlistedValue(WrongValue(key), "append", get_args(MergePolicyName), advice)
    here.problems.note("E105", node.mark, path, details)
    return node.with_value("extend")


_MOMENTS = ("before", "after")


def approval_form(node: Node, here: Here) -> Node:
    """Normalise a `requires_approval`; refuse `when: after`, which is now `at: after`."""
    entries = node.entries()
    asked = entries.get("when")
    if asked is None:
        return node
    if asked.value not in _MOMENTS:
        return node.with_value({**entries, "when": condition_form(asked, here)})
    details = moment_is_not_a_condition(str(asked.value))
    here.problems.note("E108", asked.at, (*path_of_node(here.root, node), "when"), details)
    rest = {key: item for key, item in entries.items() if key != "when"}
    return node.with_value({"at": asked, **rest})
