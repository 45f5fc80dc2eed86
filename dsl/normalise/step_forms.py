"""Personas and steps in every written form: the one shape of the models.

A persona has a plan of steps, and a step may configure a persona, so both are here.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

from dsl.model.step_kinds.join_policies import MergePolicyName
from dsl.normalise import dialect_steps, dialects
from dsl.normalise.approval_forms import approval_form
from dsl.normalise.condition_forms import condition_form
from dsl.normalise.dialects import Here
from dsl.normalise.implied_kinds import with_agent_type, with_kind
from dsl.normalise.several_calls import calls_as_loop
from dsl.problem_details import Advice, UnlistedValue, WrongValue
from dsl.source.nodes import Node, change_entries, each_item, path_of_node
from dsl.wording.form_wording import policy_renamed


@dataclass(frozen=True, slots=True)
class StepForms:
    """Normalises the steps of one persona or one team, which older forms may refer to."""

    here: Here

    def persona(self, key: str | None, node: Node) -> Node:
        """Normalise a persona, or a task's `config`; older forms in its plan may mean it."""
        node = dialects.persona(node, self.here)
        names = dialects.written_names(node, "execution_plan")
        here = replace(self.here, tasks=tuple(names.steps), persona=key, variables=names.variables)
        return change_entries(
            node,
            execution_plan=each_item(StepForms(here).step),
            budgets=budget_forms,
            hooks=each_item(self.hook),
        )

    def step(self, node: Node) -> Node:
        """Give a step its `kind`, and normalise everything in it."""
        if not node.entries():
            return node
        node = with_agent_type(with_kind(dialect_steps.step(node, self.here)), self.here)
        if "calls" in node.entries():
            node = calls_as_loop(node, self.here)
        condition = partial(condition_form, here=self.here)
        return change_entries(
            node,
            when=condition,
            fail_when=condition,
            requires_approval=self.approval,
            while_=condition,
            until=condition,
            break_when=condition,
            config=lambda config: self.persona(_persona_key(node), config),
            body=each_item(self.step),
            select=each_item(self.step),
            on_failed_task=each_item(self.step),
            otherwise=each_item(self.step),
            branches=self._branches,
            merge=each_item(self.policy),
            steps=each_item(self.step),
            catch=each_item(lambda clause: change_entries(clause, steps=each_item(self.step))),
            finally_=each_item(self.step),
        )

    def hook(self, node: Node) -> Node:
        """Normalise the condition of a hook."""
        return change_entries(node, when=self.condition)

    def tool(self, node: Node) -> Node:
        """Normalise the approval of a tool."""
        return change_entries(node, requires_approval=self.approval)

    def approval(self, node: Node) -> Node:
        """Normalise a `requires_approval`."""
        return approval_form(node, self.here, self.condition)

    def condition(self, node: Node) -> Node:
        """Normalise a condition."""
        return condition_form(node, self.here)

    def policy(self, node: Node) -> Node:
        """Refuse the old name of a merge policy; `append` is an operation of `context_updates`."""
        if node.value != "append":
            return node
        path = path_of_node(self.here.root, node)
        key = path[-1] if path else None
        advice = Advice(policy_renamed())
        details = UnlistedValue(WrongValue(key), "append", get_args(MergePolicyName), advice)
        self.here.problems.note("E105", node.mark, path, details)
        return node.with_value("extend")

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


def budget_forms(node: Node) -> Node:
    """Convert budgets to mappings: a bare amount is the limit of one."""

    def amount(budget: Node) -> Node:
        bare = budget.value is not None and not isinstance(budget.value, dict | list)
        return budget.with_value({"limit": budget}) if bare else budget

    return each_item(amount)(node) if node.entries() else node


def _persona_key(step: Node) -> str | None:
    key = step.entries().get("persona_key")
    return str(key.value) if key is not None else None
