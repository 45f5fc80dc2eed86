"""Checks of `{name}` in prompts: whether the prompt syntax of the persona renders it."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from coterie.dsl.model.facts import ROOTS
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.templates.brace_prompts import names_in_braces
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import NodePath

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_NAME = r"[A-Za-z_]\w*(?:\.\w+)*"
_INDEX = r"""(?:\[(?:\d+|[A-Za-z_]\w*|'[^'\]]*'|"[^"\]]*")\](?:\.\w+)*)*"""
_FORMAT = r"(?:![rsa])?(?::(?:[<>^]\d+|,|,?\.\d+[efg%]?|0?\d*[defgsx%]))?"
_PLACEHOLDER = re.compile(rf"(?<![\w$\\{{}}])\{{({_NAME}{_INDEX}{_FORMAT})\}}(?!\}})")
"""`{name}`, with the parts that Python's format strings may have besides."""
_PLAIN = re.compile(_NAME)


class Placeholder(NamedTuple):
    """One `{name}`, and its line in the text, from 1."""

    name: str
    line: int


def placeholders(text: str) -> list[Placeholder]:
    """Return every `{name}` outside of templates, each name once."""
    if "{" not in text:
        return []
    bare = _TEMPLATE.sub(lambda template: "\n" * template[0].count("\n"), text)
    lines: dict[str, int] = {}
    line, counted = 1, 0
    for match in _PLACEHOLDER.finditer(bare):
        line += bare.count("\n", counted, match.start())
        counted = match.start()
        lines.setdefault(match[1], line)
    return [Placeholder(name, line) for name, line in lines.items()]


_MAX_PLACEHOLDERS = 5


def shown_names(names: Sequence[str]) -> str:
    """Return placeholders as a problem lists them."""
    text = ", ".join(f"`{{{name}}}`" for name in names[:_MAX_PLACEHOLDERS])
    remaining = len(names) - _MAX_PLACEHOLDERS
    return f"{text} and {remaining} more" if remaining > 0 else text


def _template(name: str, root: str) -> str:
    path = name.partition("!")[0].partition(":")[0]
    return f"`{{{{ {root}.{path} }}}}`"


@rule("W512")
def placeholders_left(names: Sequence[str], *, is_older: bool) -> ProblemText:
    syntax = ", written in the older syntax," if is_older else ""
    templates = f"{_template(names[0], 'input')} or {_template(names[0], 'context')}"
    return ProblemText(
        f"the prompt{syntax} would reach the model with {shown_names(names)} unexpanded",
        fix="add `prompt_syntax: braces` to the persona" if is_older else f"write {templates}",
    )


def check_placeholders(
    tree: Node,
    problems: Problems,
    prompts: Mapping[str, str | None],
    path_of: Callable[[str], NodePath],
    variables: Collection[str] | None,
) -> bool:
    """Warn of each prompt with placeholders, and name the prompt syntax that renders them.

    Args:
        tree: the document.
        problems: collects the findings.
        prompts: of one persona whose prompts are templates.
        path_of: returns where a prompt is written.
        variables: the names that its templates may read besides those of every template; None if
            they are not known.

    Returns:
        Whether the prompts can be templates: else they are all of the older syntax.
    """
    texts = {key: text for key, text in prompts.items() if text is not None}
    templates = {key: text for key, text in texts.items() if is_template(text)}
    names = [name for text in texts.values() for name in names_in_braces(text)]
    if names and templates and not any(_works(text, variables) for text in templates.values()):
        key, text = next(iter(templates.items()))
        _note_literal(tree, problems, text, names[0], path_of(key))
        return False
    placeholders_by_key = {key: placeholders(text) for key, text in texts.items()}
    plain = all(
        _PLAIN.fullmatch(placeholder.name)
        for group in placeholders_by_key.values()
        for placeholder in group
    )
    for key, group in placeholders_by_key.items():
        if group:
            is_older = plain and not templates
            details = placeholders_left(
                [placeholder.name for placeholder in group], is_older=is_older
            )
            _note(tree, problems, group[0], path_of(key), details)
    return True


def _works(text: str, variables: Collection[str] | None) -> bool:
    """Return whether a text has a part that is meant as a template: it parses, and has values."""
    if "{%" in text or "{#" in text:
        return True
    for expression in _EXPRESSION.findall(text):
        try:
            paths = parse(expression).paths
        except BadTemplate:
            continue
        roots = {path[0] for path in paths}
        if not roots or variables is None or roots & {*ROOTS, "flags", *variables}:
            return True
    return False


@rule("E301")
def placeholders_beside_literals(name: str, literal: str) -> ProblemText:
    return ProblemText(
        f"the persona's prompts have `{{{name}}}`, which only the older syntax renders, and "
        f"`{literal}`, which is literal text there and no template that works",
        fix=f"add `prompt_syntax: braces` to the persona, or write {_template(name, 'input')} or "
        f"{_template(name, 'context')} for each value",
    )


def _note_literal(tree: Node, problems: Problems, text: str, name: str, path: NodePath) -> None:
    literal = _EXPRESSION.search(text)
    literal_text = "{{" if literal is None else literal[0]
    before = "" if literal is None else text[: literal.start()]
    line = before.count("\n") + 1
    details = placeholders_beside_literals(name, literal_text)
    problems.report(details, Place(tree.find(path).line(line, literal_text), path))


@rule("W512")
def placeholders_unsupported(names: Sequence[str]) -> ProblemText:
    templates = f"{_template(names[0], 'input')} or {_template(names[0], 'context')}"
    return ProblemText(
        "`prompt_syntax: braces` renders only `{name}` and `{name.field}`, so the prompt would "
        f"reach the model with {shown_names(names)} unexpanded",
        fix="give the value a name of its own in the task's `input`, or remove `prompt_syntax` and "
        f"write {templates}",
    )


@rule("W512")
def templates_in_braces(template: str) -> ProblemText:
    return ProblemText(
        f"`prompt_syntax: braces` renders no templates, so `{template}` would reach the model as "
        "text",
        fix="remove `prompt_syntax: braces` and write every placeholder as a template, or write "
        "`{name}`",
    )


def check_braces(
    tree: Node,
    problems: Problems,
    prompts: Mapping[str, str | None],
    path_of: Callable[[str], NodePath],
) -> None:
    """Warn of what `prompt_syntax: braces` does not render: templates, indexes, formats."""
    for key, text in prompts.items():
        if text is None:
            continue
        unsupported_placeholders = [
            placeholder
            for placeholder in placeholders(text)
            if not _PLAIN.fullmatch(placeholder.name)
        ]
        if unsupported_placeholders:
            details = placeholders_unsupported(
                [placeholder.name for placeholder in unsupported_placeholders]
            )
            _note(tree, problems, unsupported_placeholders[0], path_of(key), details)
        template = next((match for match in _TEMPLATE.finditer(text) if _is_meant(match[0])), None)
        if template is not None:
            line = text.count("\n", 0, template.start()) + 1
            mark = tree.find(path_of(key)).line(line, template[0])
            problems.report(templates_in_braces(template[0]), Place(mark, path_of(key)))


def _is_meant(template: str) -> bool:
    """Return whether a template is surely meant as one: a statement, or a value of the run."""
    try:
        paths = parse(template).paths
    except BadTemplate:
        paths = ()
    return template.startswith("{%") or any(len(path) > 1 and path[0] in ROOTS for path in paths)


@rule("W512")
def placeholders_of_compaction(names: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the prompt of `compaction` would reach the model with {shown_names(names)} unexpanded",
        fix=f"remove `{{{names[0]}}}`: the conversation stands before the prompt",
    )


def check_compaction_prompt(tree: Node, problems: Problems, text: str, path: NodePath) -> None:
    """Warn of placeholders in the prompt of a summary, which is sent unchanged."""
    bare_placeholders = placeholders(text)
    if bare_placeholders:
        details = placeholders_of_compaction(
            [placeholder.name for placeholder in bare_placeholders]
        )
        _note(tree, problems, bare_placeholders[0], path, details)


def _note(
    tree: Node, problems: Problems, first: Placeholder, path: NodePath, details: Details
) -> None:
    mark = tree.find(path).line(first.line, f"{{{first.name}}}")
    problems.report(details, Place(mark, path))
