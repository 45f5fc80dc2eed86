"""Problems of teams and of the routes between them."""

from collections.abc import Collection, Sequence

from coterie.dsl.errors import listed, nearest
from coterie.dsl.problem_details import ProblemText, rule


def either(names: Sequence[str]) -> str:
    """Return `'a', 'b' or 'c'`."""
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}" if first else last


def both(names: Sequence[str]) -> str:
    """Return `'a', 'b' and 'c'`."""
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last


@rule("E102")
def team_without_tasks(team: str) -> ProblemText:
    return ProblemText(f"the team {team!r} has no tasks", fix="add `tasks:`")


@rule("E107")
def section_of_other_type(key: str, wanted: str, team: str, found: str) -> ProblemText:
    return ProblemText(
        f"`{key}` belongs to a team of type {wanted!r}, and {team!r} is of type {found!r}",
        fix=f"add `type: {wanted}`, or remove `{key}`",
    )


@rule("E107")
def clean_up_collects(team: str) -> ProblemText:
    return ProblemText(
        f"{team!r} collects the branches of a fan-out, and nothing fans out to a clean-up",
        fix="name a team of another type",
    )


@rule("W501")
def no_rule_matches(failing: Sequence[str]) -> ProblemText:
    failed = f", and when {either(failing)} fails," if failing else ""
    return ProblemText(
        f"when no rule matches{failed} the run fails: there is no default",
        fix="add `default:` with a team, or `default: null` to end there",
    )


@rule("E107")
def key_of_fan_out(key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` belongs to a fan-out, and `next_team` is not a list",
        fix=f"write `next_team: [a, b]`, or remove `{key}`",
    )


@rule("W516")
def nothing_merged(path: str, known: Collection[str]) -> ProblemText:
    return ProblemText(
        f"no branch of this fan-out sets {path!r}, so nothing is merged there",
        f"the context paths that a branch sets: {listed(known)}",
        nearest(path, known) or "set it in `context_updates:` of a branch's routing",
    )


@rule("E208")
def branches_repeated(names: Sequence[str]) -> ProblemText:
    return ProblemText(f"the fan-out names {listed(names)} twice", fix="name each branch once")


@rule("E106")
def fan_out_empty() -> ProblemText:
    return ProblemText("the fan-out is empty", fix="name each branch once")


@rule("E107")
def several_concentrators(found: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the branches of this fan-out can meet at {listed(found)}",
        fix=f"choose one: `concentrator: {found[0]}`",
    )


@rule("E107")
def not_a_concentrator(team: str, found: str) -> ProblemText:
    return ProblemText(f"{team!r} is a team of type {found!r}", "a team of type 'concentrator'")


@rule("E107")
def other_concentrators(others: Sequence[str], meeting: str) -> ProblemText:
    return ProblemText(
        f"a branch of this fan-out can reach {listed(others)}, but the fan-out meets at "
        f"{meeting!r}: nobody waits for that branch",
        fix="lead every branch to one concentrator, or to the end",
    )


@rule("E107")
def bound_of_itself(key: str, team: str) -> ProblemText:
    return ProblemText(
        f"`{key}` of `max_visits` names the team {team!r} itself",
        fix="name another team, or bound all visits in a run with `max_recursion_depth`",
    )


@rule("E107")
def bound_of_concentrator(team: str) -> ProblemText:
    return ProblemText(
        f"{team!r} collects the branches of a fan-out, so no other team can run instead",
        fix="remove `max_visits`, and bound a team before the fan-out",
    )


@rule("E107")
def bound_of_called_team(team: str, step: str) -> ProblemText:
    return ProblemText(
        f"the step {step!r} runs the team {team!r} and needs its data, so no other team can run "
        "instead",
        fix="remove `max_visits`, or route to the team",
    )


@rule("E107")
def bounds_in_circle(teams: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"`then` leads in a circle: {' -> '.join((*teams, teams[0]))}",
        fix="let one `then` name a team without `max_visits`",
    )
