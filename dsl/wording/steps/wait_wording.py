"""Problems of waits."""

from collections.abc import Collection, Sequence

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.wording.step_names import called


@rule("E107")
def waits_for_several(step: str, keys: Sequence[str]) -> ProblemText:
    return ProblemText(f"{called(step, 'the wait')} waits for {' and '.join(keys)}", _FORMS)


@rule("E102")
def waits_for_nothing(step: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the wait')} waits for nothing", _FORMS)


_FORMS = "one of duration, time, signal, message"


@rule("E107")
def key_of_other_wait(step: str, key: str, waits_for: str) -> ProblemText:
    """Word that `deadline` or `schema` is written in a wait which has none."""
    others = ("a signal or a message", "`signal:` or `message: true`")
    other, written = others if key == "deadline" else ("a message", "`message: true`")
    return ProblemText(
        f"`{key}` belongs to a wait for {other}, and {called(step)} waits for {waits_for}",
        fix=f"remove `{key}`, or wait with {written}",
        edit=Remove(key),
    )


@rule("E103")
def refused_wait(key: str, value: str, wanted: str) -> ProblemText:
    return ProblemText(f"'{key}' is {value}", wanted)


@rule("W530")
def time_has_passed(step: str, time: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the wait')} ends at once: {time} has passed",
        fix="write a later time, or a template for it",
    )


@rule("E105")
def reserved_signal(name: str, reserved: Collection[str], prefix: str) -> ProblemText:
    whose = "the run" if name in reserved else "Temporal"
    return ProblemText(
        f"{whose} takes the signal {name!r} itself",
        f"a name other than {listed(reserved)}, and none that begins with {prefix}",
        "give the signal another name",
    )
