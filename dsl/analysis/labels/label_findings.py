"""Report every call that can send out private data at the word of others without an approval."""

from collections.abc import Sequence

from coterie.dsl.analysis.bodies import Bodies, bodies
from coterie.dsl.analysis.labels.grant_findings import NeededGrant, grants_to_add, needed_grants
from coterie.dsl.analysis.labels.label_calls import Leak
from coterie.dsl.analysis.labels.label_flow import LabelFlow
from coterie.dsl.analysis.labels.label_sources import labels_of
from coterie.dsl.analysis.labels.points import Source
from coterie.dsl.analysis.labels.possible_labels import with_possible_labels
from coterie.dsl.analysis.routes.teams import Teams
from coterie.dsl.egress.met_labels import KEPT
from coterie.dsl.logic.solver import Effort
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.model.plan import Plan
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import NodePath


@rule("W521")
def unapproved_egress(
    tool: str,
    step: str,
    private: tuple[str, str],
    untrusted: tuple[str, str],
    needed: Sequence[NeededGrant],
) -> ProblemText:
    granted = "`grants: [private]` if it may send private data"
    if needed:
        granted = f"{grants_to_add(needed)}: the grant of {tool!r} does not count within it"
    return ProblemText(
        f"{step} can send private data out because of text that others wrote, so its run asks "
        "a person: "
        f"{private[1]!r} in {private[0]} returns private data, {untrusted[1]!r} in "
        f"{untrusted[0]} returns text that others wrote, and {tool!r} sends data out",
        fix=f"add `requires_approval: before` to {tool!r}, an `approval` step before it, or "
        f"{granted}",
    )


def check_labels(
    plan: Plan,
    graph: Teams,
    parts: Bodies,
    effort: Effort,
    tree: Node,
    problems: Problems,
    trusted_paths: Sequence[str],
) -> None:
    """Warn of each such call, with the calls that bring the labels on a way to it."""
    possible = with_possible_labels(plan, trusted_paths)
    if possible is not plan:
        plan, parts = possible, bodies(possible, tree)
    if not labels_of(plan).issuperset(("egress", *KEPT)):
        return
    for leak in LabelFlow(plan, graph, parts, effort).check():
        path = _written_at(leak, tree)
        node = tree.find(path)
        private, untrusted = (_source(leak, label) for label in KEPT)
        details = unapproved_egress(
            leak.tool,
            leak.step,
            (private.step, private.tool),
            (untrusted.step, untrusted.tool),
            needed_grants(leak.withheld, parts, tree),
        )
        problems.report(details, Place(node.mark if leak.agent is not None else node.at, path))


def _source(leak: Leak, label: KeptLabel) -> Source:
    return next(one for one in leak.trace if one.label == label)


def _written_at(leak: Leak, tree: Node) -> NodePath:
    """Return where the tool is offered to the model that calls it, or the step that calls it."""
    if leak.agent is None:
        return leak.path
    own = (*leak.path, "config")
    for base in (own, ("llm_config", "personas", leak.agent)):
        for key in ("tools", "subagents"):
            index = _index_in(tree, (*base, key), leak.tool)
            if index is not None:
                return (*base, key, index)
    return leak.path


def _index_in(tree: Node, path: NodePath, tool: str) -> int | None:
    """Return where a written list of tools, if there is one, names a tool."""
    items = tree.find(path).items() if tree.has(path) else []
    return next((index for index, item in enumerate(items) if item.value == tool), None)
