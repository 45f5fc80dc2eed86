"""Random documents with mistakes made into them as people make them."""

from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.values import Json
from tests.support.documents.generated import documents
from tests.support.documents.strategies import json_values

_WORDS = (
    "name",
    "type",
    "kind",
    "tasks",
    "steps",
    "condition",
    "next_team",
    "context",
    "loop",
    "when",
    "value",
    "values",
    "default",
    "body",
    "unknown",
    "",
)


@st.composite
def broken(draw: st.DrawFn) -> Json:
    """A document with one to four mistakes made into it."""
    document = draw(documents())
    for _ in range(draw(st.integers(1, 4))):
        _break(draw, document)
    return document


def _break(draw: st.DrawFn, value: JsonValue) -> None:
    """Make one mistake somewhere below."""
    match value:
        case dict() if value:
            key = draw(st.sampled_from(list(value)))
            if not _deeper(draw, value[key]):
                _in_mapping(draw, value, key)
        case list() if value:
            index = draw(st.integers(0, len(value) - 1))
            if not _deeper(draw, value[index]):
                _in_list(draw, value, index)
        case _:
            pass


def _deeper(draw: st.DrawFn, below: JsonValue) -> bool:
    """Mostly the mistake is further in."""
    if not isinstance(below, dict | list) or not below or not draw(st.integers(0, 4)):
        return False
    _break(draw, below)
    return True


_KINDS = st.sampled_from(("lose", "value", "misspell", "move", "wrap"))


def _in_list(draw: st.DrawFn, here: list[JsonValue], index: int) -> None:
    match draw(_KINDS):
        case "lose":
            del here[index]
        case "wrap":
            here[index] = [here[index]]
        case _:
            here[index] = draw(json_values)


def _in_mapping(draw: st.DrawFn, here: Json, key: str) -> None:
    match draw(_KINDS):
        case "lose":
            del here[key]
        case "misspell":
            here[key[:-1] + "x"] = here.pop(key)
        case "move":
            here[draw(st.sampled_from(_WORDS))] = here.pop(key)
        case "wrap":
            here[key] = [here[key]]
        case _:
            here[key] = draw(json_values)
