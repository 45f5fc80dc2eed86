"""Problems of steps, of their names, and of what they call."""

from collections.abc import Collection, Sequence

from dsl.errors import listed
from dsl.problem_details import ProblemText, statement
from dsl.wording.step_names import called


@statement
def step_does_nothing(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the step')} does nothing",
        fix="write what it does, like `skill:` or `values:`, or remove it",
    )


@statement
def retry_in_vain(step: str, error: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} would retry after {error!r}, which no further attempt changes",
        fix=f"remove {error!r}; with `on_failure: ask` a person can change the data first",
    )


@statement
def no_conversation(step: str, key: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} limits the earlier turns of a conversation and has no `conversation`",
        fix=f"add `conversation: <name>`, or remove `{key}`",
    )


@statement
def conversation_without_model(step: str, *, is_legacy: bool) -> ProblemText:
    what = "a legacy agent" if is_legacy else "an agent that follows a plan"
    return ProblemText(
        f"{called(step)} is {what}, which cannot continue a conversation",
        fix="move `conversation:` to an agent of type generic_single_shot or generic_tool_calling",
    )


@statement
def fixed_argument(tool: str, argument: str) -> ProblemText:
    return ProblemText(
        f"the tool {tool!r} fixes {argument!r}, so this argument has no effect",
        fix=f"remove {argument!r} here, or from `fixed` of the tool",
    )


@statement
def loop_without_rounds(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the loop')} has no list and no condition",
        "iterate_on, while, until",
        "add one of these keys",
    )


@statement
def loop_variable_missing(step: str) -> ProblemText:
    return ProblemText(
        f"the key 'loop_variable' is missing: nothing names the item of {called(step)}",
        fix="add `loop_variable: item`",
    )


@statement
def not_a_bound(found: str, *, is_length: bool) -> ProblemText:
    what = "a duration or a template" if is_length else "a whole number or one template"
    number, maximum = ("90s", "10m") if is_length else ("5", "10")
    return ProblemText(
        f"a bound is {what} for it, not {found}",
        fix=f'write `{number}`, or `{{value: "{{{{ ... }}}}", maximum: {maximum}}}`',
    )


@statement
def bound_without_maximum(
    owner: str, key: str, template: str, path: tuple[str, ...] | None, *, is_length: bool
) -> ProblemText:
    maximum, seconds = ("10m", "maximum: 600") if is_length else ("10", "maximum: 10")
    declared = "" if path is None else f", or declare {'.'.join(path)!r} with `{seconds}`"
    return ProblemText(
        f"`{key}` of {owner} is a template without a maximum, so nothing bounds a run",
        fix=f'write `{key}: {{value: "{template}", maximum: {maximum}}}`{declared}',
    )


@statement
def unbounded_loop(step: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the loop')} has no bound", fix="add `max_iterations: 10`")


@statement
def dependent_rounds(step: str) -> ProblemText:
    return ProblemText(
        f"each round of {called(step)} needs the one before it, so they cannot run at once",
        fix="use `iterate_on`, or remove `concurrency`",
    )


@statement
def condition_between_rounds(step: str, keys: Sequence[str]) -> ProblemText:
    named = " and ".join(f"`{key}`" for key in keys)
    return ProblemText(
        f"concurrent rounds of {called(step)} cannot stop by {named}, which a round decides for "
        "the next one",
        fix=f"remove `concurrency`, or {named}",
    )


_LISTS = "a list, or one template expression that gives one"


@statement
def path_without_braces(key: str, path: str) -> ProblemText:
    return ProblemText(
        f"{key!r} is the path {path!r} without braces", _LISTS, f'write `"{{{{ {path} }}}}"`'
    )


@statement
def not_a_list(key: str, shown: str) -> ProblemText:
    return ProblemText(f"{key!r} is {shown}", _LISTS)


@statement
def not_arguments(shown: str) -> ProblemText:
    return ProblemText(
        f"'arguments' is {shown}",
        'a mapping, or one template for a mapping: `"{{ step.arguments }}"`',
    )


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
def not_a_duration(value: str, allowed: str) -> ProblemText:
    return ProblemText(f"'duration' is {value!r}", allowed)


@statement
def reserved_signal(name: str, reserved: Collection[str], prefix: str) -> ProblemText:
    whose = "the run" if name in reserved else "Temporal"
    return ProblemText(
        f"{whose} takes the signal {name!r} itself",
        f"a name other than {listed(reserved)}, and none that begins with {prefix}",
        "give the signal another name",
    )


@statement
def catches_nothing(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the try')} catches nothing and has no finally",
        "catch, finally",
        "add one of these keys",
    )


@statement
def empty_clause() -> ProblemText:
    return ProblemText(
        "'error' is empty: the clause catches nothing",
        'at least one type of failure, or "*" for any',
        'write `error: "*"` to catch every failure',
    )


@statement
def no_result(step: str, kind: str) -> ProblemText:
    return ProblemText(
        f"`fail_when` of {step!r} rejects nothing: a step of type {kind!r} has no result",
        fix="set `fail_when` on the step that brings the result",
    )


@statement
def never_applied(key: str, step: str, kind: str) -> ProblemText:
    return ProblemText(
        f"`{key}` of {step!r} is never applied: a step of type {kind!r} ends its list of steps",
        fix=f"move `{key}` to a step before it, such as one of type 'set'",
    )


@statement
def no_attempt(key: str, step: str, kind: str) -> ProblemText:
    what = "takes no time" if key == "timeout" else "ends the same at each attempt"
    return ProblemText(
        f"`{key}` of {step!r} has no effect: a step of type {kind!r} {what}",
        fix=f"move `{key}` to a step that calls or waits, or to a `block` around several steps",
    )


@statement
def never_retried(step: str, kind: str, causes: Sequence[str]) -> ProblemText:
    *others, last = (f"`{key}`" for key in causes)
    keys = f"{', '.join(others)} or {last}" if others else last
    return ProblemText(
        f"`retry` of {step!r} has no effect: no failure of a step of type {kind!r} as it stands "
        "is retried",
        fix=f"add {keys}, whose failure `retry` repeats; or move `retry` to the step whose failure "
        "it means",
    )


@statement
def step_name_with_separator(name: str) -> ProblemText:
    return ProblemText(
        f"no step can be called {name!r}",
        "a name without / and #, which separate the parts of approval ids",
    )


@statement
def step_name_taken(name: str, line: int) -> ProblemText:
    return ProblemText(
        f"the name {name!r} is taken by the step on line {line}",
        fix="give each step of a team or plan its own name",
    )


@statement
def variable_name_refused(name: str, reserved: Collection[str]) -> ProblemText:
    why = "is a name of the language" if name in reserved else "is not an identifier"
    return ProblemText(
        f"no variable can be called {name!r}: it {why}",
        "letters, digits and _, but not " + listed(reserved),
    )


@statement
def loop_variable_taken(name: str, loop: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is already the item of {loop!r} around this one",
        fix="give the inner item its own name",
    )


@statement
def once_command_retried(name: str, run: str, run_once: str) -> ProblemText:
    return ProblemText(
        f"the command {name!r} may run only once, and {run} retries",
        fix=f"use `skill: {run_once}`",
    )


@statement
def skill_input(
    skill: str, problem: str, allowed: str, fix: str, *, is_missing: bool
) -> ProblemText:
    return ProblemText(f"{skill} {'needs' if is_missing else 'takes'} {problem}", allowed, fix)


def no_input(name: str) -> str:
    return f"no input {name!r}"


def missing_input(key: str) -> str:
    return f"the input {key!r}, which is missing"


def other_input(wanted: str, name: str | None, shown: str) -> str:
    return f"{wanted} for {'its input' if name is None else repr(name)}, not {shown}"


def write_list(shown: str) -> str:
    return f"write a list: `[{shown}]`"


def text_around_template() -> str:
    return "a text around a template"


def text_like(pattern: str) -> str:
    return f"a text like {pattern}"


@statement
def unread_output(team: str) -> ProblemText:
    return ProblemText(
        f"no step and no tool runs the team {team!r}, so nothing reads its output",
        fix="run it with `team:` in a step, or write `orchestration.output` for the whole run",
    )
