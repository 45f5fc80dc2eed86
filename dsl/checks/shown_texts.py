"""Checks of texts that people read: `{name}` in them stays as it is written."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, cast

from pydantic import BaseModel

from coterie.dsl.checks.agents.hook_template_checks import names_at
from coterie.dsl.checks.agents.placeholder_checks import placeholders, shown_names
from coterie.dsl.json_values import texts_within
from coterie.dsl.model.decision_terms import AskTerms, CallApproval
from coterie.dsl.model.document import ApprovalSection, ChatSection, SystemDocument
from coterie.dsl.model.facts import ROOTS
from coterie.dsl.model.hooks import HookSection
from coterie.dsl.model.steps import STEP_OF_TAG
from coterie.dsl.model.tools.tool_section import ToolBase
from coterie.dsl.model.traversal.step_walk import variables
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import NodePath

_SHOWN: dict[type[BaseModel], tuple[str, ...]] = {
    **{model: model.shown for model in STEP_OF_TAG.values()},
    ApprovalSection: ("prompt", "show"),
    CallApproval: ("prompt", "show"),
    AskTerms: ("prompt",),
    ChatSection: ("reply",),
    HookSection: ("message",),
}
"""The fields that a person is shown."""


class _ShownText(NamedTuple):
    """A text that a person reads."""

    text: str
    path: NodePath
    is_template: bool
    """Whether templates in it are expanded."""
    of_hook: HookSection | None


@rule("W512")
def placeholders_shown(names: Sequence[str], path: str) -> ProblemText:
    quote = "'" if '"' in names[0] else '"'
    literal = f"`{{{{ {quote}{{{names[0]}}}{quote} }}}}`"
    return ProblemText(
        f"people would read {shown_names(names)} unexpanded",
        fix=f"write `{{{{ {path} }}}}`; for the braces themselves, {literal}",
    )


@rule("W512")
def placeholders_shown_literally(names: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"people would read {shown_names(names)} unexpanded: this question has no templates",
        fix="ask without it here, or ask in an `approval` step, whose `prompt` is a template",
    )


def check_shown_texts(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Warn of placeholders that a person would read unexpanded."""
    roots = {*ROOTS, *variables([step for step, _ in document.steps])}
    tasks = {step.name for step, _ in document.steps}
    for text, path, is_template, hook in _shown_texts(document, (), is_template=True):
        bare_placeholders = placeholders(text)
        if not bare_placeholders:
            continue
        names = [placeholder.name for placeholder in bare_placeholders]
        if is_template and hook is not None:
            likely_path = _meant_path(names[0], {*ROOTS, *names_at(hook)}, ())
            details = placeholders_shown(names, likely_path)
        elif is_template:
            details = placeholders_shown(names, _meant_path(names[0], roots, tasks))
        else:
            details = placeholders_shown_literally(names)
        mark = tree.find(path).line(bare_placeholders[0].line, f"{{{bare_placeholders[0].name}}}")
        problems.report(details, Place(mark, path))


def _meant_path(name: str, roots: Collection[str], tasks: Collection[str]) -> str:
    """Return the path that a placeholder most likely means, such as `context.topic`."""
    path = name.partition("!")[0].partition(":")[0]
    first = path.partition(".")[0].partition("[")[0]
    if first in roots:
        return path
    if first in tasks:
        return f"tasks.{path}.data" if path == first else f"tasks.{path}"
    return f"context.{path}"


def _shown_texts(value: object, path: NodePath, *, is_template: bool) -> Iterator[_ShownText]:
    """Yield the texts for people below a part of the document."""
    match value:
        case BaseModel():
            shown_keys = next(
                (keys for model, keys in _SHOWN.items() if isinstance(value, model)), ()
            )
            is_filled = is_template and not isinstance(value, AskTerms | ToolBase)
            for name, info in type(value).model_fields.items():
                if name not in value.model_fields_set:
                    continue  # the author did not write it
                below, inner_path = getattr(value, name), (*path, info.alias or name)
                if name in shown_keys:
                    texts = texts_within(below, inner_path)
                    hook = value if isinstance(value, HookSection) else None
                    yield from (_ShownText(text, at, is_filled, hook) for text, at in texts)
                else:
                    yield from _shown_texts(below, inner_path, is_template=is_filled)
        case dict():
            for key, item in cast("dict[str, object]", value).items():
                yield from _shown_texts(item, (*path, key), is_template=is_template)
        case tuple() | list():
            for index, item in enumerate(cast("list[object]", value)):
                yield from _shown_texts(item, (*path, index), is_template=is_template)
        case _:
            return
