"""Wording of problems with grants, and with calls that send data out without one."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie.dsl.problem_details import ProblemText, Remove, rule


class NeededGrant(NamedTuple):
    """A tool made of an agent or a team that needs a grant, so that one within it counts."""

    tool: str
    label: str
    at: str
    """`file:line:column` of the tool, or of the subagent that becomes one."""
    is_declared: bool
    """Whether the document declares the tool; else only `subagents` names its agent."""


@rule("E107")
def grant_of_nothing(name: str) -> ProblemText:
    return ProblemText(
        f"`grants` of {name!r} has no effect: its calls send nothing out",
        fix="remove `grants`, or add `labels: [egress]`",
        edit=Remove("grants"),
    )


@rule("W526")
def grant_never_counts(name: str, needed: Sequence[NeededGrant]) -> ProblemText:
    label = needed[0].label
    return ProblemText(
        f"`grants` of {name!r} never counts: each call of it is within a tool that does not grant "
        f"`{label}`, such as {' and '.join(repr(one.tool) for one in needed)}",
        fix=f"add {_grants_to_add(needed)}, or remove `grants` from {name!r}",
    )


@rule("W526")
def grant_unused_within(name: str, unused: Sequence[str]) -> ProblemText:
    labels = f"`grants: [{', '.join(unused)}]`"
    return ProblemText(
        f"{labels} of {name!r} has no effect: no call within it has such a grant",
        fix=f"remove it, or add {labels} to a tool with `egress` that is called within {name!r}",
    )


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
        granted = f"{_grants_to_add(needed)}: the grant of {tool!r} does not count within it"
    return ProblemText(
        f"{step} can send private data out because of text that others wrote, so its run asks "
        "a person: "
        f"{private[1]!r} in {private[0]} returns private data, {untrusted[1]!r} in "
        f"{untrusted[0]} returns text that others wrote, and {tool!r} sends data out",
        fix=f"add `requires_approval: before` to {tool!r}, an `approval` step before it, or "
        f"{granted}",
    )


def _grants_to_add(needed: Sequence[NeededGrant]) -> str:
    """Return what to add: `grants: [private]` to 'helper' (team.yml:3:5)."""
    return " and ".join(map(_grant, needed))


def _grant(one: NeededGrant) -> str:
    if one.is_declared:
        return f"`grants: [{one.label}]` to {one.tool!r} ({one.at})"
    tool = f"`{one.tool}: {{ agent: {one.tool}, grants: [{one.label}] }}`"
    return f"the tool {tool} for the subagent ({one.at})"
