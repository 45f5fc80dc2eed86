"""Locations of pydantic's errors: the models there, and the keys as people write them."""

import types
from collections.abc import Iterator, Sequence
from typing import Annotated, ForwardRef, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag
from typing_extensions import TypeAliasType

from coterie.dsl.model import conditions, steps
from coterie.dsl.model.tools.tool_section import TOOL_SECTION_OF_TAG
from coterie.dsl.values import NodePath

TAGGED: dict[str, type[BaseModel]] = {
    **{
        f"condition:{model.__name__}": model
        for model in (
            conditions.TaskField,
            conditions.TaskStatus,
            conditions.ContextField,
            conditions.AllOf,
            conditions.AnyOf,
            conditions.Not,
            conditions.TeamOutcome,
            conditions.Expression,
        )
    },
    **steps.STEP_OF_TAG,
    **TOOL_SECTION_OF_TAG,
}


def keys(model: type[BaseModel]) -> Iterator[str]:
    """Yield the keys of a model as people write them; the `kind` of a step is `type`."""
    of_step = issubclass(model, steps.StepBase)
    for name, info in model.model_fields.items():
        if name != "terms":
            yield "type" if of_step and name == "kind" else info.alias or name


def path_at(location: Sequence[int | str], root: type[BaseModel]) -> NodePath:
    """Return the keys and indexes of an error's location, without the tags of union members."""
    return _follow_location(location, root)[0]


def model_at(location: Sequence[int | str], root: type[BaseModel]) -> type[BaseModel] | None:
    """Return the document model whose fields are at an error's location."""
    here = _unwrap_annotation(_follow_location(location, root)[1])
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def words_at(location: Sequence[int | str], root: type[BaseModel]) -> tuple[str, ...]:
    """Return the closed set of words that the value at an error's location may have."""
    return tuple(_words(_follow_location(location, root)[1]))


def _plain(annotation: object) -> object:
    """Return a type without its alias and its metadata."""
    while True:
        if isinstance(annotation, TypeAliasType):
            annotation = annotation.__value__
        elif get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        else:
            return annotation


def _words(annotation: object) -> Iterator[str]:
    annotation = _plain(annotation)
    origin = get_origin(annotation)
    if origin is Literal:
        yield from map(str, get_args(annotation))
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _words(member)


def _follow_location(
    location: Sequence[int | str], root: type[BaseModel]
) -> tuple[NodePath, object]:
    """Return the path, and the type of the value there.

    Only the types tell pydantic's names of union members from keys: a team may be called `str`.
    """
    here: object = root
    path: list[int | str] = []
    entered = False
    for part in location:
        members = _members(here)
        if isinstance(here, str | ForwardRef) and part in TAGGED:  # the root itself
            here = TAGGED[str(part)]
        elif isinstance(part, str) and len(members) > 1 and not entered:
            named = TAGGED.get(part) or _union_member(members, part)
            entered = named is None
            here = here if named is None else named
        else:
            here = _next(_unwrap_annotation(here), part)
            path.append(part)
            entered = False
    return tuple(path), here


def _members(annotation: object) -> list[object]:
    """Return the members of a union other than None; empty for any other type."""
    annotation = _plain(annotation)
    if get_origin(annotation) not in (Union, types.UnionType):
        return []
    members = [arg for arg in get_args(annotation) if arg is not type(None)]
    return members if len(members) > 1 else _members(members[0])


def _union_member(members: Sequence[object], tag: str) -> object | None:
    """Return the member of a union that has the tag."""
    for member in members:
        metadata = get_args(member)[1:] if get_origin(member) is Annotated else ()
        if any(isinstance(annotation, Tag) and annotation.tag == tag for annotation in metadata):
            return member
    return None


def _next(here: object, part: int | str) -> object:
    if isinstance(here, type) and issubclass(here, BaseModel):
        for name, info in here.model_fields.items():
            if part in (name, info.alias):
                return info.annotation
        return None
    arguments = get_args(here)
    return arguments[1 if get_origin(here) is dict else 0] if arguments else None


def _unwrap_annotation(here: object) -> object:
    here = _plain(here)
    while get_origin(here) in (Union, types.UnionType):
        members = [arg for arg in get_args(here) if arg is not type(None)]
        plain = [arg for arg in members if get_origin(arg) is not Literal]
        here = _plain(plain[0]) if plain else None
    return here
