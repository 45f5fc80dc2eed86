"""Checks of the keys about a step's attempts and its result, where its kind has none."""

from collections.abc import Sequence

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.retryability import can_pass
from coterie.dsl.model.steps import FunctionStep, Step, ToolStep
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.values import NodePath


@rule("E105")
def retry_in_vain(step: str, error: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} would retry after {error!r}, which no further attempt changes",
        fix=f"remove {error!r}; with `on_failure: ask` a person can change the data first",
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


def check_attempts(scope: StepScope, step: Step, path: NodePath) -> None:
    """Note keys for results and attempts that do nothing, and failures that no attempt changes."""
    if step.ends_list:
        _result(scope, step, path)
    for key in step.without_effect:
        if getattr(step, key) is not None:
            scope.report(no_attempt(key, step.name, step.kind), (*path, key))
    causes = step.retry_causes
    if step.retry is not None and causes and all(getattr(step, key) is None for key in causes):
        scope.report(never_retried(step.name, step.kind, causes), (*path, "retry"))
    check_retry_of_once(scope, step, path)
    for index, error in enumerate(step.retry.errors if step.retry is not None else ()):
        if not can_pass(error, data_can_differ=step.contains_calls):
            key_path = (*path, "retry", "errors", index)
            scope.report(retry_in_vain(step.name, error), key_path)


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


def _result(scope: StepScope, step: Step, path: NodePath) -> None:
    """Note the keys that apply to a result: these steps end their list without one."""
    if step.fail_when is not None:
        scope.report(no_result(step.name, step.kind), (*path, "fail_when"))
    for key, value in (
        ("context_updates", step.context_updates),
        ("output_variable", step.output_variable),
    ):
        if value:
            scope.report(never_applied(key, step.name, step.kind), (*path, key))


@rule("W528")
def retry_of_once(step: str, called: str, own: bool) -> ProblemText:
    what = "the call" if own else f"{step!r}"
    return ProblemText(
        f"`retry` of {step!r} repeats {what} only while {called!r} has certainly not happened: its "
        "effect is `once`",
        fix="route `OutcomeUnknown` to a check of what happened; if a repeated call does no harm, "
        "give the tool the effect `read` or `idempotent`",
    )


def check_retry_of_once(scope: StepScope, step: Step, path: NodePath) -> None:
    """Warn of a `retry` that does not repeat a call in it once that may have happened."""
    if step.retry is None:
        return
    for inner, _ in walk((step,), path):
        call = _once_call(scope, inner)
        if call is not None:
            scope.report(retry_of_once(step.name, call, inner is step), (*path, "retry"))
            return


def _once_call(scope: StepScope, step: Step) -> str | None:
    """Return what a step calls, if its effect is `once`."""
    match step:
        case FunctionStep(skill=name):
            contract: FunctionContract | None = scope.capabilities.functions.get(name)
        case ToolStep(tool=name) if (section := scope.tools.get(name)) is not None:
            contract = scope.capabilities.contract_of(section.kind, section.made_of)
        case _:
            return None
    return name if contract is not None and contract.effect == "once" else None
