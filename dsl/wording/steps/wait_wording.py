"""Problems of waits."""

from collections.abc import Collection, Sequence

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.step_names import called


@rule("E107")
def waits_for_several(step: str, keys: Sequence[str]) -> ProblemText:
    return ProblemText(f"{called(step, 'the wait')} waits for {' and '.join(keys)}", _FORMS)


@rule("E102")
def waits_for_nothing(step: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the wait')} waits for nothing", _FORMS)


_FORMS = "one of duration, time, signal, message"


@rule("E107")
def deadline_without_signal(step: str, key: str) -> ProblemText:
    return ProblemText(
        f"`deadline` belongs to a wait for a signal or a message, and {called(step)} waits for "
        f"{key}",
        fix="remove `deadline`, or wait with `signal:` or `message: true`",
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
