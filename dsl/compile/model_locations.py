"""Where pydantic's errors lie: the models at their locations, and the keys as people write them."""

import types
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from dsl.model import conditions, steps

TAGGED: dict[str, type[BaseModel]] = {
    **{f"condition:{model.__name__}": model for model in (
        conditions.TaskField, conditions.TaskStatus, conditions.ContextField, conditions.AllOf,
        conditions.AnyOf, conditions.Not, conditions.TeamOutcome, conditions.Expression)},
    **{f"step:{kind}": model for kind, model in steps.STEP_MODELS.items()},
}  # fmt: skip


def is_tag(part: int | str) -> bool:
    """Whether pydantic put it into a location to name a member of a union."""
    return isinstance(part, str) and (
        part.startswith(("step:", "condition:", "literal[", "constrained-", "tuple["))
        or part in ("bool", "str", "int", "float")
    )


def keys(model: type[BaseModel]) -> Iterator[str]:
    """The keys of a model as people write them: `type` is the `kind` of a step, and no other."""
    of_step = issubclass(model, steps.StepBase)
    for name, info in model.model_fields.items():
        if name != "terms":
            yield "type" if of_step and name == "kind" else info.alias or name


def model_at(location: Sequence[int | str], root: type[BaseModel]) -> type[BaseModel] | None:
    """The document model whose fields stand at an error's location."""
    here = _unwrapped(_annotation_at(location, root))
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def words_at(location: Sequence[int | str], root: type[BaseModel]) -> tuple[str, ...]:
    """The closed set of words that the value at an error's location may be one of."""
    return tuple(_words(_annotation_at(location, root)))


def _words(annotation: object) -> Iterator[str]:
    origin = get_origin(annotation)
    if origin is Literal:
        yield from map(str, get_args(annotation))
    elif origin is Annotated:
        yield from _words(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _words(member)


def _annotation_at(location: Sequence[int | str], root: type[BaseModel]) -> object:
    here: object = root
    for part in location:
        if isinstance(part, str) and part in TAGGED:
            here = TAGGED[part]
        elif not is_tag(part):
            here = _next(_unwrapped(here), part)
    return here


def _next(here: object, part: int | str) -> object:
    if isinstance(here, type) and issubclass(here, BaseModel):
        for name, info in here.model_fields.items():
            if part in (name, info.alias):
                return info.annotation
        return None
    arguments = get_args(here)
    return arguments[1 if get_origin(here) is dict else 0] if arguments else None


def _unwrapped(here: object) -> object:
    while True:
        origin = get_origin(here)
        if origin is Annotated:
            here = get_args(here)[0]
        elif origin in (Union, types.UnionType):
            members = [arg for arg in get_args(here) if arg is not type(None)]
            plain = [arg for arg in members if get_origin(arg) is not Literal]
            here = plain[0] if plain else None
        else:
            return here
