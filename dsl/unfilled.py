"""Templates where none is filled: they would stay the text that they are, so they are refused."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import cast

from pydantic import BaseModel

from dsl.conditions import ContextField, Expression, TaskField
from dsl.document import (
    LlmConfig,
    RoutingDocument,
    RuleDocument,
    SystemDocument,
    TeamDocument,
    ToolSection,
)
from dsl.nodes import Node, Problems
from dsl.steps import STEP_MODELS, PersonaDocument, StepBase
from dsl.templates import is_template
from dsl.terms import ApprovalTerms, Consent
from dsl.values import NodePath
from dsl.walking import FILLED_OF_CONSENTS, FILLED_OF_STEPS

_FILLED: dict[type[BaseModel], tuple[str, ...]] = {
    PersonaDocument: ("prompts",),
    RuleDocument: ("context_updates",),
    RoutingDocument: ("context_updates",),
    Expression: ("expression",),
    Consent: FILLED_OF_CONSENTS,
    **{model: FILLED_OF_STEPS[kind] for kind, model in STEP_MODELS.items()},
}
"""What is filled when it is used; docs/language.md, "Templates"."""

_LEFT: dict[type[BaseModel], tuple[str, ...]] = {
    SystemDocument: ("description", "worker"),  # a command may well have braces of its own
    TeamDocument: ("description",),
    ToolSection: ("description",),
    PersonaDocument: ("description", "output_schema"),
    ApprovalTerms: ("schema_",),
    LlmConfig: ("agents",),
    StepBase: ("output_variable",),
}
"""What no one fills either, and what others read: people, models, programs; or told elsewhere."""

_INSTEAD = {
    **dict.fromkeys(
        ("team", "next_team", "default", "entry_team", "on_timeout", "concentrator"),
        "write a team's id, and let routing rules or a step of `type: branch` choose",
    ),
    **dict.fromkeys(
        ("persona_key", "agent_type", "prompt"),
        "write it out, and let a step of `type: branch` choose between tasks",
    ),
    "skill": "write the skill's name; the `tool` of a step may be a template",
    **dict.fromkeys(
        ("model", "provider"),
        "write it out; `config:` on a task may name another one, and so may `--model`",
    ),
    **dict.fromkeys(
        ("approvers", "to", "groups", "notify"),
        "write the names out, and let a step of `type: branch` choose between approvals",
    ),
    "signal": "write the signal's name; what differs from run to run belongs into its payload",
    "error": "write the type of failure; what differs belongs into `message:`",
    **dict.fromkeys(
        ("context_field", "output_field", "task", "value"),
        'write the condition as one expression: `condition: "{{ ... }}"`',
    ),
    "flags": "write it into the prompt, or give it as the task's `input`",
    "fixed": "give it with the step's `arguments`, or write it out",
    "api_key_env": "write the NAME of the environment variable",
}


def refuse_unfilled(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Note every template that would stay literal text."""
    for path, field in _texts(document, (), ""):
        problems.add(
            "E303", tree.find(path).mark, path,
            f"a template is not filled here: {field!r} is taken as it is written",
            fix=_INSTEAD.get(field, "write the value itself"),
        )  # fmt: skip


@cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, str, bool], ...]:
    """Name, key and whether it is filled of each field that can have a template."""
    left = {name for base, names in _LEFT.items() if issubclass(model, base) for name in names}
    filled = _FILLED.get(model, ())
    return tuple(
        (name, info.alias or name, name in filled)
        for name, info in model.model_fields.items()
        if name not in left
    )


def _texts(value: object, path: NodePath, field: str) -> Iterator[tuple[NodePath, str]]:
    """Where a text stands that has a template and is not filled, and in which field it is."""
    match value:
        case str():
            if is_template(value):
                yield path, field
        case BaseModel():
            yield from _of_model(value, path)
        case Mapping():
            for key, item in cast("Mapping[str, object]", value).items():
                yield from _texts(item, (*path, key), field)
        case tuple() | list():
            for index, item in enumerate(cast("list[object]", value)):
                yield from _texts(item, (*path, index), field)
        case _:
            return


def _of_model(value: BaseModel, path: NodePath) -> Iterator[tuple[NodePath, str]]:
    for name, key, filled in _fields(type(value)):
        below = getattr(value, name)
        if isinstance(value, ToolSection) and isinstance(below, Consent):
            # a tool is called from anywhere, so its question has nothing to be filled from
            for word in FILLED_OF_CONSENTS:
                yield from _texts(getattr(below, word), (*path, key, word), word)
        compared = name == "value" and isinstance(value, TaskField | ContextField)
        if filled or (compared and isinstance(below, str)):  # E402 tells it
            continue
        yield from _texts(below, (*path, key), key)
