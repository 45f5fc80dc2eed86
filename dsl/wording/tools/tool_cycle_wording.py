"""Wording of problems with tools that call, or read from, each other."""

from collections.abc import Sequence

from coterie.dsl.problem_details import ProblemText, rule


@rule("E508")
def agents_in_a_circle(names: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"agents call each other as tools in a circle: {' -> '.join(names)}",
        fix="remove one of these tools from its agent",
    )


@rule("E508")
def memory_in_a_circle(names: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"tools read each other's work in a circle: {' -> '.join(names)}",
        fix="remove one of these `reads`",
    )


@rule("E107")
def memory_of_no_agent(name: str, source: str) -> ProblemText:
    return ProblemText(
        f"{name!r} reads the work of {source!r}, which is not an agent",
        fix="read from a tool made of an agent",
    )
