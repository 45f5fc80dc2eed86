"""Problems of prompts and texts for people: placeholders that their syntax does not render."""

from collections.abc import Sequence

from coterie.dsl.problem_details import ProblemText, rule

_MAX_PLACEHOLDERS = 5


def _shown_names(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{{{name}}}`" for name in names[:_MAX_PLACEHOLDERS])
    left = len(names) - _MAX_PLACEHOLDERS
    return f"{shown} and {left} more" if left > 0 else shown


def _template(name: str, root: str) -> str:
    path = name.partition("!")[0].partition(":")[0]
    return f"`{{{{ {root}.{path} }}}}`"


@rule("W512")
def placeholders_left(names: Sequence[str], *, is_older: bool) -> ProblemText:
    syntax = ", written in the older syntax," if is_older else ""
    written = f"{_template(names[0], 'input')} or {_template(names[0], 'context')}"
    return ProblemText(
        f"the prompt{syntax} would reach the model with {_shown_names(names)} unexpanded",
        fix="add `prompt_syntax: braces` to the persona" if is_older else f"write {written}",
    )


@rule("E301")
def placeholders_beside_literals(name: str, literal: str) -> ProblemText:
    return ProblemText(
        f"the persona's prompts have `{{{name}}}`, which only the older syntax renders, and "
        f"`{literal}`, which is literal text there and no template that works",
        fix=f"add `prompt_syntax: braces` to the persona, or write {_template(name, 'input')} or "
        f"{_template(name, 'context')} for each value",
    )


@rule("W512")
def placeholders_unsupported(names: Sequence[str]) -> ProblemText:
    written = f"{_template(names[0], 'input')} or {_template(names[0], 'context')}"
    return ProblemText(
        "`prompt_syntax: braces` renders only `{name}` and `{name.field}`, so the prompt would "
        f"reach the model with {_shown_names(names)} unexpanded",
        fix="give the value a name of its own in the task's `input`, or remove `prompt_syntax` and "
        f"write {written}",
    )


@rule("W512")
def templates_in_braces(template: str) -> ProblemText:
    return ProblemText(
        f"`prompt_syntax: braces` renders no templates, so `{template}` would reach the model as "
        "text",
        fix="remove `prompt_syntax: braces` and write every placeholder as a template, or write "
        "`{name}`",
    )


@rule("W512")
def placeholders_of_compaction(names: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the prompt of `compaction` would reach the model with {_shown_names(names)} unexpanded",
        fix=f"remove `{{{names[0]}}}`: the conversation stands before the prompt",
    )


@rule("W512")
def placeholders_shown(names: Sequence[str], path: str) -> ProblemText:
    quote = "'" if '"' in names[0] else '"'
    literal = f"`{{{{ {quote}{{{names[0]}}}{quote} }}}}`"
    return ProblemText(
        f"people would read {_shown_names(names)} unexpanded",
        fix=f"write `{{{{ {path} }}}}`; for the braces themselves, {literal}",
    )


@rule("W512")
def placeholders_shown_literally(names: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"people would read {_shown_names(names)} unexpanded: this question has no templates",
        fix="ask without it here, or ask in an `approval` step, whose `prompt` is a template",
    )
