"""Problems of waits."""

from collections.abc import Collection, Sequence

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, statement
from coterie.dsl.wording.step_names import called


@statement
def waits_for(step: str, keys: Sequence[str]) -> ProblemText:
    what = " and ".join(keys) if keys else "nothing"
    return ProblemText(
        f"{called(step, 'the wait')} waits for {what}", "one of duration, time, signal, message"
    )


@statement
def deadline_without_signal(step: str, key: str) -> ProblemText:
    return ProblemText(
        f"`deadline` belongs to a wait for a signal or a message, and {called(step)} waits for "
        f"{key}",
        fix="remove `deadline`, or wait with `signal:` or `message: true`",
    )


@statement
def refused_wait(key: str, value: str, wanted: str) -> ProblemText:
    return ProblemText(f"'{key}' is {value}", wanted)


@statement
def time_has_passed(step: str, time: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the wait')} ends at once: {time} has passed",
        fix="write a later time, or a template for it",
    )


@statement
def reserved_signal(name: str, reserved: Collection[str], prefix: str) -> ProblemText:
    whose = "the run" if name in reserved else "Temporal"
    return ProblemText(
        f"{whose} takes the signal {name!r} itself",
        f"a name other than {listed(reserved)}, and none that begins with {prefix}",
        "give the signal another name",
    )
