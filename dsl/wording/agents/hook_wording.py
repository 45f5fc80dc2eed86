"""Problems of hooks."""

from collections.abc import Sequence

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, Remove, rule

_VALUES = {
    "before_run": "a mapping of context paths to values",
    "after_run": "the output",
    "before_turn": "a note for the model",
    "before_model_call": "a note for the model",
    "after_model_call": "the answer",
    "before_tool_call": "a mapping of the arguments that change",
    "after_tool_call": "the result",
}
"""What `value` is at each point, with `modify`."""


@rule("E510")
def hook_of_run(point: str) -> ProblemText:
    return ProblemText(
        f"a persona has no `{point}`: a run has many agents",
        fix="move the hook to `orchestration.hooks`, or use `before_turn` or `after_turn`",
    )


@rule("E510")
def hook_of_plan(key: str) -> ProblemText:
    return ProblemText(
        f"`hooks` of {key!r} have no effect: its agent runs an execution plan, and asks no model",
        fix="move the hooks to the personas of the plan's steps, or to `orchestration.hooks`",
    )


@rule("E510")
def hook_decides_nothing(decision: str, point: str, allowed: Sequence[str]) -> ProblemText:
    return _impossible_decision(decision, point, allowed)


@rule("E105")
def unknown_decision(decision: str, point: str, allowed: Sequence[str]) -> ProblemText:
    return _impossible_decision(decision, point, allowed)


def _impossible_decision(decision: str, point: str, allowed: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"`decide: {decision}` is not possible at `{point}`", ", ".join(allowed), "use one of these"
    )


@rule("E109")
def hook_template_broken() -> ProblemText:
    return ProblemText(
        "`decide` has text around its template, so it gives no decision",
        fix="write one expression that gives a decision, and nothing around it",
    )


@rule("E510")
def hook_tool_misplaced(point: str) -> ProblemText:
    return ProblemText(
        f"`tool` has no effect at `{point}`",
        "before_tool_call, after_tool_call",
        "remove `tool`, or use one of these points",
        edit=Remove("tool"),
    )


@rule("E510")
def hook_without_tools(point: str) -> ProblemText:
    return ProblemText(
        f"`{point}` has no effect: the persona has no tools",
        fix="add `tools`, or remove the hook",
    )


@rule("E510")
def hook_key_without_effect(key: str, wanted: str) -> ProblemText:
    return ProblemText(
        f"`{key}` has no effect without {wanted}",
        fix=f"add {wanted}, or remove `{key}`",
    )


@rule("E102")
def hook_value_missing(point: str) -> ProblemText:
    what = _VALUES[point]
    return ProblemText(
        f"`decide: modify` at `{point}` needs `value`: {what}", fix=f"add `value`: {what}"
    )


@rule("E103")
def hook_value_of_kind(point: str, found: str) -> ProblemText:
    what = _VALUES[point]
    return ProblemText(f"`value` at `{point}` is {found}, and must be {what}", fix=f"write {what}")


@rule("E208")
def hook_named_twice(name: str, line: int) -> ProblemText:
    return ProblemText(
        f"another hook is called {name!r} already, at line {line}", fix="choose another name"
    )


@rule("E105")
def hook_name_refused(name: str) -> ProblemText:
    return ProblemText(
        f"a hook cannot be called {name!r}",
        "letters, digits, `_`, `-` and `.`, at most 60",
        "choose another name",
    )


@rule("E510")
def hook_repeats_effect(tool: str) -> ProblemText:
    return ProblemText(
        f"a retry would repeat the effect of {tool!r}, whose effect is 'once'",
        fix="decide `reject` or `fail`, or name in `tool` only tools without such an effect",
    )


@rule("E510")
def hook_sends_data(skill: str, is_function: bool) -> ProblemText:
    return ProblemText(
        f"the hook's skill {skill!r} sends data out, and nobody approves the call of a hook",
        "a skill without the label 'egress'",
        "call it by a tool or a step"
        + (
            "; if the function uses no network, name it in `worker.offline_tools`"
            if is_function
            else ""
        ),
    )


@rule("E207")
def hook_sees_not(name: str, known: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"a hook does not see {name!r} at this point", listed(known), "use one of these names"
    )


@rule("E109")
def hook_tests_tasks(known: Sequence[str]) -> ProblemText:
    return ProblemText(
        "the condition of a hook tests a task, and a hook sees no tasks",
        listed(known),
        "write an expression over these names",
    )


@rule("E506")
def hook_of_stream(name: str) -> ProblemText:
    return ProblemText(
        f"the hook {name!r} may refuse an answer that `stream` has shown already",
        fix="remove `stream`, or the hook",
    )
