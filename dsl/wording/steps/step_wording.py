"""Problems of steps, of their names, and of what they call."""

from collections.abc import Collection

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.step_names import called


@rule("W510")
def step_does_nothing(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the step')} does nothing",
        fix="write what it does, like `skill:` or `values:`, or remove it",
    )


@rule("E107")
def no_conversation(step: str, key: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} limits the earlier turns of a conversation and has no `conversation`",
        fix=f"add `conversation: <name>`, or remove `{key}`",
    )


@rule("E106")
def conversation_name_too_long(step: str, maximum: int) -> ProblemText:
    return ProblemText(
        f"the name of the conversation of {called(step)} is too long",
        f"a text of 1 to {maximum} characters",
    )


@rule("E107")
def conversation_without_model(step: str, *, is_legacy: bool) -> ProblemText:
    what = "a legacy agent" if is_legacy else "an agent that follows a plan"
    return ProblemText(
        f"{called(step)} is {what}, which cannot continue a conversation",
        fix="move `conversation:` to an agent of type generic_single_shot or generic_tool_calling",
    )


@rule("E213")
def fixed_argument(tool: str, argument: str) -> ProblemText:
    return ProblemText(
        f"the tool {tool!r} fixes {argument!r}, so this argument has no effect",
        fix=f"remove {argument!r} here, or from `fixed` of the tool",
    )


@rule("E103")
def not_arguments(shown: str) -> ProblemText:
    return ProblemText(
        f"'arguments' is {shown}",
        'a mapping, or one template for a mapping: `"{{ step.arguments }}"`',
    )


@rule("E102")
def catches_nothing(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the try')} catches nothing and has no finally",
        "catch, finally",
        "add one of these keys",
    )


@rule("E106")
def empty_clause() -> ProblemText:
    return ProblemText(
        "'error' is empty: the clause catches nothing",
        'at least one type of failure, or "*" for any',
        'write `error: "*"` to catch every failure',
    )


@rule("E105")
def step_name_with_separator(name: str) -> ProblemText:
    return ProblemText(
        f"no step can be called {name!r}",
        "a name without / and #, which separate the parts of approval ids",
    )


@rule("E208")
def step_name_taken(name: str, line: int) -> ProblemText:
    return ProblemText(
        f"the name {name!r} is taken by the step on line {line}",
        fix="give each step of a team or plan its own name",
    )


@rule("E105")
def variable_name_refused(name: str, reserved: Collection[str]) -> ProblemText:
    why = "is a name of the language" if name in reserved else "is not an identifier"
    return ProblemText(
        f"no variable can be called {name!r}: it {why}",
        "letters, digits and _, but not " + listed(reserved),
    )


@rule("E213")
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


@rule("W517")
def unread_output(team: str) -> ProblemText:
    return ProblemText(
        f"no step and no tool runs the team {team!r}, so nothing reads its output",
        fix="run it with `team:` in a step, or write `orchestration.output` for the whole run",
    )
