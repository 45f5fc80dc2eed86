"""Refuse templates in fields that are never rendered: they would stay literal text."""

import re
from collections.abc import Iterator
from functools import cache
from typing import cast

from pydantic import BaseModel

from coterie.dsl.model.conditions import ContextField, Expression, TaskField
from coterie.dsl.model.decision_terms import ApprovalTerms, AskTerms, CallApproval
from coterie.dsl.model.document import (
    Orchestration,
    RoutingDocument,
    RuleDocument,
    SystemDocument,
    TeamDocument,
)
from coterie.dsl.model.hooks import HookSection
from coterie.dsl.model.plan import MaxVisits
from coterie.dsl.model.sections.provider_document import LlmConfig
from coterie.dsl.model.sections.variable_names import written_variable
from coterie.dsl.model.sections.webhook_trigger import WebhookSection, WebhookSignal
from coterie.dsl.model.step_kinds.parallel_step import ParallelBranch
from coterie.dsl.model.step_kinds.step_base import Retry, StepBase
from coterie.dsl.model.steps import STEP_OF_TAG, PersonaDocument, PersonaStep
from coterie.dsl.model.template_bound import TemplateBound, TemplateDuration
from coterie.dsl.model.tools.tool_section import NestedToolSection, ToolBase
from coterie.dsl.model.traversal.step_walk import FILLED_OF_CALL_APPROVALS
from coterie.dsl.problem_details import ProblemText, Replace, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, NodePath

_KEY = "\0key"
"""Ends the path of a text that is a key."""


def _bounds_of(model: type[StepBase]) -> tuple[str, ...]:
    """Return the keys of a step that a bound's template may give."""
    return tuple(key.path[0] for key in model.bounds if len(key.path) == 1)


_FILLED: dict[type[BaseModel], tuple[str, ...]] = {
    PersonaDocument: ("prompts",),
    RuleDocument: ("context_updates",),
    RoutingDocument: ("context_updates",),
    Expression: ("expression",),
    HookSection: ("input", "decide", "value", "message"),
    Orchestration: ("output", "user"),
    TeamDocument: ("output",),
    CallApproval: (*FILLED_OF_CALL_APPROVALS, "deadline"),
    MaxVisits: ("limit",),
    Retry: ("retries",),
    WebhookSection: ("when", "event_id", "context"),
    WebhookSignal: ("run", "payload"),
    ParallelBranch: ("score",),
    TemplateBound: ("value",),
    TemplateDuration: ("value",),
    **{
        model: (*model.filled, *_bounds_of(model), "context_updates")
        for model in STEP_OF_TAG.values()
    },
}
"""The fields that are rendered when used; docs/templates.md, "Templates"."""

_LEFT: dict[type[BaseModel], tuple[str, ...]] = {
    SystemDocument: ("description", "worker"),  # a command may have braces of its own
    TeamDocument: ("description",),
    ToolBase: ("description",),
    NestedToolSection: ("input_schema", "output_schema"),
    PersonaDocument: ("description", "output_schema"),
    ApprovalTerms: ("schema_",),
    LlmConfig: ("agents",),
    StepBase: ("description", "output_variable"),
}
"""Fields that are never rendered and may contain braces, or that a later check covers."""


@rule("E303")
def unexpanded_template(field: str) -> ProblemText:
    return ProblemText(
        f"templates are not expanded here: {field!r} is read literally",
        fix=_INSTEAD.get(field, "write the value itself"),
    )


@rule("E303")
def unexpanded_variable(field: str, name: str) -> ProblemText:
    if field.endswith("_env"):
        fix = f"write the name alone: `{field}: {name}`"
    else:
        fix = f"write the value itself; only keys like `api_key_env: {name}` name a variable"
    return ProblemText(
        f"`${{...}}` is not expanded here: {field!r} is read literally",
        fix=fix,
        edit=Replace(f"${{{name}}}", name) if field.endswith("_env") else None,
    )


_INSTEAD = {
    **dict.fromkeys(
        ("team", "next_team", "default", "entry_team", "on_timeout", "concentrator"),
        "write a team's id, and let routing rules or a step of `type: branch` choose",
    ),
    **dict.fromkeys(
        ("persona_key", "agent_type", "prompt"),
        "write it out, and let a step of `type: branch` choose between tasks",
    ),
    "skill": "write the tool function's name; the `tool` of a step may be a template",
    **dict.fromkeys(
        ("model", "provider"),
        "write it out; `config:` on a task may name another one, and so may `--model`",
    ),
    **dict.fromkeys(
        ("approvers", "to", "groups", "notify"),
        "write the names out, and let a step of `type: branch` choose between approvals",
    ),
    "signal": "write the signal's name; what differs from run to run belongs in its payload",
    "error": "write the type of failure; what differs belongs in `message:`",
    **dict.fromkeys(
        ("context_field", "output_field", "task", "value"),
        'write the condition as one expression: `condition: "{{ ... }}"`',
    ),
    "flags": "write it into the prompt, or give it as the task's `input`",
    "fixed": "give it with the step's `arguments`, or write it out",
    "api_key_env": "write the NAME of the environment variable",
}


def refuse_texts(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Note every template that would stay literal text, and every name with control characters."""
    texts = list(_texts(document, (), ""))
    for path, field, text in texts:
        if is_template(text) and path[-1:] != (_KEY,):
            problems.report(unexpanded_template(field), tree.value_at(path))
    worker = () if document.worker is None else _texts(document.worker, ("worker",), "")
    for path, field, text in (*texts, *worker):
        name = written_variable(text)
        if name is not None and field not in _OF_COMMANDS and path[-1:] != (_KEY,):
            problems.report(unexpanded_variable(field, name), tree.value_at(path))
    for path, field, text in texts:
        match = _CONTROL.search(text)
        if match is not None and not _is_data(path, field) and text != UNREADABLE:
            _note_control(path, field, text, match[0], tree, problems)


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, and those that end a line."""

_FREE = ("value", "fixed", "flags", "message", "prompt", "run")
"""Fields whose texts are not names."""

_DATA = (("orchestration", "context"), ("orchestration", "settings"))
"""Mappings from names to data."""

_OF_COMMANDS = (*_FREE, "command", "args", "description")
"""Fields whose texts a program may expand itself, or nobody."""


def _is_data(path: NodePath, field: str) -> bool:
    """Return whether a text, or a key below a name, is data: a default, an item of an `enum`."""
    is_name = len(path) == 3 and path[-1] == _KEY
    return field in _FREE or (path[:2] in _DATA and not is_name)


@rule("E214")
def control_character(name: str, character: str, *, is_key: bool) -> ProblemText:
    subject = f"the name {name!r}" if is_key else f"{name!r}"
    return ProblemText(
        f"{subject} holds the control character U+{ord(character):04X}",
        "a text on one line, without control characters",
        "write the name without it",
    )


def _note_control(
    path: NodePath, field: str, text: str, character: str, tree: Node, problems: Problems
) -> None:
    is_key = path[-1] == _KEY
    key_path = (*path[:-1], text) if is_key else path
    node = tree.find(key_path)
    mark = node.at if is_key else node.mark
    details = control_character(text if is_key else field, character, is_key=is_key)
    problems.report(details, Place(mark, key_path))


@cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, str, bool], ...]:
    """Return name, key and whether it is rendered, for each field that can contain a template."""
    exclusions = {
        name for base, names in _LEFT.items() if issubclass(model, base) for name in names
    }
    filled = _FILLED.get(model, ())
    return tuple(
        (name, info.alias or name, name in filled)
        for name, info in model.model_fields.items()
        if name not in exclusions
    )


def _texts(value: object, path: NodePath, field: str) -> Iterator[tuple[NodePath, str, str]]:
    """Yield each text that is never rendered: its path, its field, the text itself.

    The path of a key of a mapping ends with `_KEY`.
    """
    match value:
        case str():
            yield path, field, value
        case BaseModel():
            yield from _of_model(value, path)
        case dict():
            for key, item in cast("dict[str, object]", value).items():
                yield (*path, _KEY), field, key
                yield from _texts(item, (*path, key), field)
        case tuple() | list():
            for index, item in enumerate(cast("list[object]", value)):
                yield from _texts(item, (*path, index), field)
        case _:
            return


def _of_model(value: BaseModel, path: NodePath) -> Iterator[tuple[NodePath, str, str]]:
    written_fields = value.model_fields_set
    for name, key, filled in _fields(type(value)):
        if name not in written_fields:
            continue  # a default has neither templates nor names
        below = getattr(value, name)
        if isinstance(value, ToolBase) and isinstance(below, CallApproval):
            # a tool has callers everywhere, so nothing could fill its question
            for word in (*FILLED_OF_CALL_APPROVALS, "deadline"):
                yield from _texts(_text_of(getattr(below, word)), (*path, key, word), word)
        compared = name == "value" and isinstance(value, TaskField | ContextField)
        if isinstance(value, PersonaStep) and name == "persona_key":
            filled = isinstance(below, str) and is_template(below)  # else it is a name
        if filled or (compared and isinstance(below, str)):  # E402 reports it
            continue
        below = _text_of(below) if isinstance(value, AskTerms) else below
        yield from _texts(below, (*path, key), key)


def _text_of(value: object) -> object:
    """Return the template of a duration that nothing could fill, or any other value itself."""
    return {"value": value.value} if isinstance(value, TemplateDuration) else value
