"""Warn of grants without effect: those that never count, and those that nothing within uses."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coterie.dsl.analysis.labels.grant_paths import GrantPaths
from coterie.dsl.analysis.routes.team_graph import Teams
from coterie.dsl.analysis.variable_scopes import Bodies
from coterie.dsl.egress.counted_grants import WithheldGrant
from coterie.dsl.egress.met_labels import KEPT
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath


class NeededGrant(NamedTuple):
    """A tool made of an agent or a team that needs a grant, so that one within it counts."""

    tool: str
    label: str
    at: str
    """`file:line:column` of the tool, or of the subagent that becomes one."""
    is_declared: bool
    """Whether the document declares the tool; else only `subagents` names its agent."""


@rule("W526")
def grant_never_counts(name: str, needed: Sequence[NeededGrant]) -> ProblemText:
    label = needed[0].label
    return ProblemText(
        f"`grants` of {name!r} never counts: each call of it is within a tool that does not grant "
        f"`{label}`, such as {' and '.join(repr(grant.tool) for grant in needed)}",
        fix=f"add {grants_to_add(needed)}, or remove `grants` from {name!r}",
    )


@rule("W526")
def grant_unused_within(name: str, unused: Sequence[str]) -> ProblemText:
    labels = f"`grants: [{', '.join(unused)}]`"
    return ProblemText(
        f"{labels} of {name!r} has no effect: no call within it has such a grant",
        fix=f"remove it, or add {labels} to a tool with `egress` that is called within {name!r}",
    )


def grants_to_add(needed: Sequence[NeededGrant]) -> str:
    """Return what to add: `grants: [private]` to 'helper' (team.yml:3:5)."""
    return " and ".join(map(_grant, needed))


def _grant(grant: NeededGrant) -> str:
    if grant.is_declared:
        return f"`grants: [{grant.label}]` to {grant.tool!r} ({grant.at})"
    tool = f"`{grant.tool}: {{ agent: {grant.tool}, grants: [{grant.label}] }}`"
    return f"the tool {tool} for the subagent ({grant.at})"


def check_grants_count(
    plan: Plan, graph: Teams, parts: Bodies, tree: Node, problems: Problems
) -> None:
    """Warn of each tool whose grants count on no way to it, or in no call within it."""
    if not plan.narrow_grants:
        return
    paths = GrantPaths(plan, graph, parts)
    for name, tool in plan.tools.items():
        if not tool.grants:
            continue
        path: NodePath = ("tools", name, "grants")
        if "egress" in tool.labels:
            path_grants = paths.counted(name)
            if path_grants and not any(grants.counted for grants in path_grants):
                needed = needed_grants(path_grants[0].withheld, parts, tree)
                problems.report(grant_never_counts(name, needed), tree.key_at(path))
        else:
            used_labels = paths.used_within(name)
            unused = tuple(label for label in tool.grants if label not in used_labels)
            if unused:
                problems.report(grant_unused_within(name, unused), tree.key_at(path))


def needed_grants(
    withheld: Sequence[WithheldGrant], parts: Bodies, tree: Node
) -> tuple[NeededGrant, ...]:
    """Return where to add a grant so that one of those that were withheld counts."""
    if not withheld:
        return ()
    easiest = min(withheld, key=lambda grant: (len(grant.by), KEPT.index(grant.label)))
    return tuple(_needed_grant(name, easiest, parts, tree) for name in dict.fromkeys(easiest.by))


def _needed_grant(name: str, withheld: WithheldGrant, parts: Bodies, tree: Node) -> NeededGrant:
    path: NodePath = ("tools", name)
    is_declared = tree.has(path)
    if not is_declared:
        path = next(
            (
                subagent_path
                for subagent_path in _subagents(parts, tree)
                if tree.find(subagent_path).value == name
            ),
            (),
        )
    file, line, column = tree.find(path).at
    return NeededGrant(name, withheld.label, f"{file}:{line}:{column}", is_declared)


def _subagents(parts: Bodies, tree: Node) -> Iterator[NodePath]:
    """Yield where personas, and the `config` of tasks, name their subagents."""
    personas: NodePath = ("llm_config", "personas")
    owners = [(*personas, key) for key in tree.find(personas).entries()]
    for body in (*parts.teams.values(), *parts.plans.values()):
        owners += [
            (*at, "config") for step, at in body.steps_with_paths if isinstance(step, PersonaStep)
        ]
    for owner in owners:
        path = (*owner, "subagents")
        if tree.has(owner) and tree.has(path):
            yield from ((*path, index) for index in range(len(tree.find(path).items())))
