"""Which grants of a tool count in one call: those that every tool around the call grants, too.

A tool made of an agent or a team may narrow what is called within it, and never widens it. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.dsl.egress.met_labels import KEPT
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.model.plan import Plan


@dataclass(frozen=True, slots=True)
class WithheldGrant:
    """A grant of a tool that does not count in a call."""

    label: KeptLabel
    by: tuple[str, ...]
    """The tools around the call that do not grant it, outermost first."""


@dataclass(frozen=True, slots=True)
class CountedGrants:
    """The grants of a tool in one call."""

    counted: tuple[KeptLabel, ...] = ()
    within: tuple[str, ...] = ()
    """The tools around the call that grant these, too, outermost first."""
    withheld: tuple[WithheldGrant, ...] = ()


def counted_grants(
    grants: Sequence[KeptLabel], enclosing: Sequence[str], plan: Plan
) -> CountedGrants:
    """Return which grants of a tool count in a call.

    Args:
        grants: of the tool.
        enclosing: the tools made of agents and teams around the call, outermost first.
        plan: of the run.
    """
    if not plan.narrow_grants:
        return CountedGrants(tuple(grants))
    withheld: list[WithheldGrant] = []
    for label in grants:
        by = tuple(name for name in enclosing if label not in _labels_granted(name, plan))
        if by:
            withheld.append(WithheldGrant(label, by))
    lost = {grant.label for grant in withheld}
    counted: tuple[KeptLabel, ...] = tuple(label for label in grants if label not in lost)
    return CountedGrants(counted, tuple(enclosing) if counted else (), tuple(withheld))


def allowed_grants(enclosing: Sequence[str], plan: Plan) -> frozenset[KeptLabel]:
    """Return the grants that may count within these tools: two such calls ask alike."""
    return frozenset(counted_grants(KEPT, enclosing, plan).counted)


def _labels_granted(name: str, plan: Plan) -> Sequence[KeptLabel]:
    tool = plan.tools.get(name)
    return () if tool is None else tool.grants
