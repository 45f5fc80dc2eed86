"""Teams in every written form: their tasks, their routing, and their older words."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from coterie.dsl.normalise.condition_forms import condition_form
from coterie.dsl.normalise.here import Here
from coterie.dsl.normalise.step_forms import budget_forms, policy_form, step_form, written_names
from coterie.dsl.normalise.team_sections import SHORT_TEAMS, section_as_steps
from coterie.dsl.source.nodes import Node, change_entries, each_item


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
        here = replace(self.here, tasks=frozenset(str(one.value) for one in named if one))
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
