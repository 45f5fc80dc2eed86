"""The findings of the analysis, in words."""

from collections.abc import Sequence

from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.routing_wording import both, either

_MAX_CONDITION_LENGTH = 100
_MAX_NAMES_SHOWN = 10


def shortened(condition: str) -> str:
    """Return the text of a condition, cut if it is too long for a sentence."""
    if len(condition) <= _MAX_CONDITION_LENGTH:
        return condition
    return f"{condition[: _MAX_CONDITION_LENGTH - 3]}..."


def numbered(what: str, numbers: Sequence[int]) -> str:
    """Return `rule 1`, or `rules 1, 2 and 4`; counted from 1."""
    *first, last = [str(number + 1) for number in numbers]
    if not first:
        return f"{what} {last}"
    plural = {"branch": "branches", "catch": "catches"}.get(what, f"{what}s")
    return f"{plural} {', '.join(first)} and {last}"


@rule("W531")
def analysis_incomplete(names: Sequence[str], questions: int) -> ProblemText:
    shown = ", ".join(map(repr, names[:_MAX_NAMES_SHOWN]))
    more = f" and {len(names) - _MAX_NAMES_SHOWN:,} more" if len(names) > _MAX_NAMES_SHOWN else ""
    return ProblemText(
        f"the analysis left out {questions:,} questions about the conditions of {shown}{more}: "
        "answering them would take too long, so findings about routes there may be missing",
        fix="write fewer or simpler conditions there, or move them to a document of their own",
    )


@rule("W504")
def default_unused(rule: int) -> ProblemText:
    return ProblemText(
        f"the default is never used: rule {rule} always matches, also after a failure",
        fix=f"give rule {rule} a condition, or remove the default",
    )


@rule("W504")
def clause_unused(number: int, earlier: Sequence[int]) -> ProblemText:
    takes = "takes" if len(earlier) == 1 else "take"
    return ProblemText(
        f"catch {number + 1} is never used: {numbered('catch', earlier)} already {takes} every "
        "failure that it names",
        fix="put the special clauses before the general one",
    )


@rule("W504")
def alternative_unreached(
    what: str, number: int, earlier: Sequence[int], condition: str | None
) -> ProblemText:
    before = numbered(what, earlier)
    if len(earlier) > 1:
        why = f"{before} together match whenever it would"
    elif condition is None:
        why = f"{before} has no condition and always matches"
    else:
        why = f"{before} matches whenever it would ({shortened(condition)})"
    return ProblemText(
        f"{what} {number + 1} is never reached: {why}", fix=f"put it before {before}, or remove it"
    )


@rule("W505")
def impossible_condition(parts: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"this condition can never hold: {' excludes '.join(map(shortened, parts))}",
        fix="correct it, or remove what depends on it",
    )


@rule("W508")
def field_read_too_early(
    name: str, team: str, setters: Sequence[str], *, is_asked: bool
) -> ProblemText:
    what = "is asked for" if is_asked else "is read"
    sets, comes = ("sets", "comes") if len(setters) == 1 else ("set", "come")
    return ProblemText(
        f"{name} {what} by the team {team!r} before any team can have set it: only {both(setters)} "
        f"{sets} it, and {comes} later",
        fix=f"set it earlier, or write `{{{{ {name} | default(...) }}}}` if the start may give it",
    )


@rule("W508")
def team_read_too_early(path: Sequence[str], team: str) -> ProblemText:
    read = f"{'.'.join(path)} is read by the team {team!r}"
    if path[1] == team:
        return ProblemText(
            f"{read} in its only visit, before it has a result",
            fix=f"write `tasks.{'.'.join(path[3:])}` for the present visit",
        )
    return ProblemText(f"{read} and {path[1]!r} cannot have run before it", fix="route to it first")


@rule("W503")
def team_unreached(team: str, entry: str, *, is_named: bool) -> ProblemText:
    return ProblemText(
        f"only routes that are never taken lead to the team {team!r}"
        if is_named
        else f"no route leads from the entry team {entry!r} to the team {team!r}",
        fix="name it in a rule, as a default or as a step, or remove it",
    )


@rule("W506")
def loop_without_exit(teams: Sequence[str], cycle: Sequence[str], max_visits: int) -> ProblemText:
    if len(teams) == 1:
        what = f"the team {teams[0]!r} leads to nothing but itself"
    else:
        shown = " -> ".join(cycle) if cycle else "of " + ", ".join(teams)
        what = f"the loop {shown} has no exit: every route leads back into it"
    return ProblemText(
        f"{what}, so only a failure or the limits end the run (at most {max_visits} team visits)",
        fix="let a rule lead to null or out of the loop",
    )


@rule("W507")
def unhandled_failure(steps: Sequence[str], *, is_called: bool) -> ProblemText:
    fails = "the step that runs the team" if is_called else "the run"
    return ProblemText(
        f"when {either(steps)} fails, no rule matches and there is no default: {fails} fails",
        fix="add `default:` with a team, or a rule for the failure; `default: null` confirms that "
        "the run ends there",
    )


@rule("W509")
def read_too_early(
    path: Sequence[str],
    key: Sequence[str],
    setter: str,
    *,
    is_later: bool,
    is_asked: bool,
) -> ProblemText:
    name = ".".join(path)
    if len(key) == 2:
        what = f"the outcome of the task {key[1]!r}"
        why = "which runs later" if is_later else "which stays within the rounds of its loop"
    else:
        what = f"the variable {'.'.join(key)!r}"
        when = "later" if is_later else "for the steps within it alone"
        why = f"which {setter!r} sets {when}"
    guard = "" if is_asked else f", or write `{{{{ {name} | default(...) }}}}`"
    return ProblemText(
        f"{name} cannot be there yet: it asks for {what}, {why}",
        fix=f"move the step that sets it before this one{guard}",
    )


@rule("W519")
def declared_unused(path: str, *, is_required: bool) -> ProblemText:
    given = ", though every start must give it" if is_required else ""
    return ProblemText(
        f"no team reads or writes the declared path {path!r}{given}",
        fix="use it, or remove the declaration",
    )
