"""Problems of attempts: of retries, timeouts, and keys that no attempt applies."""

from collections.abc import Sequence

from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.step_names import called


@rule("E105")
def retry_in_vain(step: str, error: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} would retry after {error!r}, which no further attempt changes",
        fix=f"remove {error!r}; with `on_failure: ask` a person can change the data first",
    )


@rule("E107")
def no_result(step: str, kind: str) -> ProblemText:
    return ProblemText(
        f"`fail_when` of {step!r} rejects nothing: a step of type {kind!r} has no result",
        fix="set `fail_when` on the step that brings the result",
    )


@rule("E107")
def never_applied(key: str, step: str, kind: str) -> ProblemText:
    return ProblemText(
        f"`{key}` of {step!r} is never applied: a step of type {kind!r} ends its list of steps",
        fix=f"move `{key}` to a step before it, such as one of type 'set'",
    )


@rule("E107")
def no_attempt(key: str, step: str, kind: str) -> ProblemText:
    what = "takes no time" if key == "timeout" else "ends the same at each attempt"
    return ProblemText(
        f"`{key}` of {step!r} has no effect: a step of type {kind!r} {what}",
        fix=f"move `{key}` to a step that calls or waits, or to a `block` around several steps",
    )


@rule("W517")
def never_retried(step: str, kind: str, causes: Sequence[str]) -> ProblemText:
    *others, last = (f"`{key}`" for key in causes)
    keys = f"{', '.join(others)} or {last}" if others else last
    return ProblemText(
        f"`retry` of {step!r} has no effect: no failure of a step of type {kind!r} as it stands "
        "is retried",
        fix=f"add {keys}, whose failure `retry` repeats; or move `retry` to the step whose failure "
        "it means",
    )


@rule("W528")
def retry_of_once(step: str, called: str, own: bool) -> ProblemText:
    what = "the call" if own else f"{step!r}"
    return ProblemText(
        f"`retry` of {step!r} repeats {what} only while {called!r} has certainly not happened: its "
        "effect is `once`",
        fix="route `OutcomeUnknown` to a check of what happened; if a repeated call does no harm, "
        "give the tool the effect `read` or `idempotent`",
    )


@rule("E211")
def once_command_retried(name: str, run: str, run_once: str) -> ProblemText:
    return ProblemText(
        f"the command {name!r} may run only once, and {run} retries",
        fix=f"use `skill: {run_once}`",
    )


@rule("E209")
def no_commands(name: str) -> ProblemText:
    return ProblemText(
        f"unknown command {name!r}: this worker has no commands",
        fix=f"add it to coterie.yml: `worker: {{ commands: {{ {name}: {{ run: [...] }} }} }}`",
    )
