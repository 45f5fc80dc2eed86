"""Converts every written form of steps and conditions into the one shape of the models.

Works on the tree of nodes, so every position is kept. A form that it cannot read stays unchanged,
and the models refuse it in place.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from coterie.dsl.normalise.condition_forms import condition_form
from coterie.dsl.normalise.form_context import Here, WholeDocument
from coterie.dsl.normalise.step_forms import (
    approval_form,
    budget_forms,
    hook_form,
    persona_form,
    policy_form,
    step_form,
    written_names,
)
from coterie.dsl.normalise.team_sections import SHORT_TEAMS, section_as_steps
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, change_below, change_entries, each_entry, each_item


@dataclass(frozen=True, slots=True)
class TeamForms:
    """Normalises the teams of one document."""

    here: Here
    teams: Collection[str]

    def team(self, key: str, node: Node) -> Node:
        """Turn a team of type `loop`, `approval` or `chat` into the steps that it is short for."""
        entries = node.entries()
        tasks = entries["tasks"].items() if "tasks" in entries else []
        named = (task.entries().get("name") for task in tasks)
        here = replace(self.here, tasks=frozenset(str(name.value) for name in named if name))
        kind = entries.get("type")
        if kind is not None and str(kind.value) in SHORT_TEAMS:
            node = section_as_steps(node, key, here)
        in_tasks = replace(here, variables=written_names(node, "tasks").variables)
        return change_entries(
            node,
            {
                "tasks": each_item(partial(step_form, here=in_tasks)),
                "budgets": budget_forms,
                "routing": partial(self._routing, here),
                "loop": partial(_loop, here),
            },
        )

    def _routing(self, here: Here, node: Node) -> Node:
        rules = each_item(partial(self._rule, here))
        return change_entries(node, {"rules": rules, "default": self._next})

    def _rule(self, here: Here, node: Node) -> Node:
        condition = partial(condition_form, here=here)
        policies = each_item(partial(policy_form, here=here))
        return change_entries(
            node, {"condition": condition, "next_team": self._next, "merge": policies}
        )

    def _next(self, node: Node) -> Node:
        """Convert `next_team: "none"` to null, unless a team has that name."""
        name = node.value
        if isinstance(name, str) and name.lower() == "none" and name not in self.teams:
            return Node(None, node.mark, node.key_mark)
        return node


def _loop(here: Here, node: Node) -> Node:
    condition = partial(condition_form, here=here)
    keys = ("while", "until", "break_when")
    return change_entries(node, dict.fromkeys(keys, condition))


def normalised(document: Node, problems: Problems) -> Node:
    """Return the document in the models' shape; report forms that cannot be converted.

    Each part is normalised against the document with the parts before it in their new form.
    """
    names = document.find(("orchestration", "teams")).entries()
    approval = partial(approval_form, here=Here(WholeDocument(document), problems))
    tool = partial(change_entries, changes={"requires_approval": approval})
    document = change_below(document, ("tools",), each_item(tool))
    persona = partial(persona_form, here=Here(WholeDocument(document), problems))
    document = change_below(document, ("llm_config", "personas"), each_entry(persona))
    document = change_below(document, ("orchestration", "budgets"), budget_forms)
    hook = partial(hook_form, here=Here(WholeDocument(document), problems))
    document = change_below(document, ("orchestration", "hooks"), each_item(hook))
    teams = TeamForms(Here(WholeDocument(document), problems), names)
    return change_below(document, ("orchestration", "teams"), each_entry(teams.team))
