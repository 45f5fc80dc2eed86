"""Whatever a document says, it becomes a plan or problems: the compiler itself never fails."""

import copy
import json
from typing import cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.model.plan import Plan
from tests.support.compiling import plan_of, problems_of
from tests.support.documents.documents import RICH
from tests.support.documents.strategies import json_objects, json_values

DOCUMENT = cast("JsonValue", yaml.safe_load(RICH))
Place = tuple[str | int, ...]

words = st.sampled_from(
    [
        "type",
        "name",
        "when",
        "agent_class",
        "skill",
        "tool",
        "condition",
        "and",
        "or",
        "not",
        "task",
        "status",
        "output_field",
        "operator",
        "value",
        "next_team",
        "rules",
        "default",
        "iterate_on",
        "while",
        "body",
        "branches",
        "steps",
        "values",
        "config",
        "input",
        "terms",
        "kind",
        "collect",
        "loop",
        "approval",
        "execution_plan",
        "prompts",
        "timeout",
        "retry",
        "config_field",
        "conditions",
        "team",
        "signal",
        "duration",
        "catch",
        "finally",
        "merge",
    ]
)
values = (
    json_values
    | words
    | st.dictionaries(words, json_values | words, max_size=4)
    | st.sampled_from(["{{ context.a }}", "{{ a b }}", "{{ x }} {{", "none", "all_success", 0, -1])
)


def places(value: JsonValue, here: Place = ()) -> list[Place]:
    inner: list[Place] = [here]
    items = (
        value.items()
        if isinstance(value, dict)
        else (enumerate(value) if isinstance(value, list) else ())
    )
    for key, item in items:
        inner += places(item, (*here, key))
    return inner


PLACES = [place for place in places(DOCUMENT) if place]


def at(document: JsonValue, place: Place) -> JsonValue:
    for part in place:
        if isinstance(document, dict):
            document = document[str(part)]
        elif isinstance(document, list) and isinstance(part, int):
            document = document[part]
        else:
            raise KeyError(part)
    return document


@st.composite
def mistaken(draw: st.DrawFn) -> JsonValue:
    """The rich document with one to three things replaced, taken out, or called otherwise."""
    document = copy.deepcopy(DOCUMENT)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(PLACES))
        try:
            above = at(document, place[:-1])
            what = draw(st.sampled_from(["replace", "remove", "rename", "add"]))
            if isinstance(above, dict):
                key = str(place[-1])
                old = above.pop(key, None)
                match what:
                    case "replace":
                        above[key] = draw(values)
                    case "rename":
                        above[draw(words)] = old
                    case "add":
                        above |= {key: old, draw(words): draw(values)}
                    case _:
                        pass
            elif isinstance(above, list) and isinstance(place[-1], int):
                above[place[-1]] = draw(values)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return document


def compiles_or_tells(text: str) -> None:
    problems = problems_of(text)
    for problem in problems:
        assert 1 <= problem.line <= text.count("\n") + 1
        assert problem.column >= 1
    json.dumps([problem.as_dict() for problem in problems])
    if all(problem.severity == "warning" for problem in problems):
        plan = plan_of(text)
        data = plan.model_dump(mode="json", exclude_defaults=True, by_alias=True)
        assert Plan.model_validate(json.loads(json.dumps(data))) == plan


def test_the_document_without_a_mistake_has_no_problem() -> None:
    assert problems_of(RICH) == ()


@given(mistaken())
def test_a_document_with_any_mistake_is_reported_or_compiled(document: JsonValue) -> None:
    compiles_or_tells(yaml.safe_dump(document, allow_unicode=True))


@given(json_objects)
def test_any_mapping_is_reported_or_compiled(document: JsonValue) -> None:
    compiles_or_tells(yaml.safe_dump(document, allow_unicode=True))


@given(st.text(max_size=60) | st.text(st.sampled_from("a:- \n[]{}&*!|>'\"#%@,?~<"), max_size=40))
def test_any_text_is_reported_or_compiled(text: str) -> None:
    (first, *_) = problems_of(text)  # no such text has an orchestration
    assert first.severity == "error"


@pytest.mark.parametrize(
    ("text", "place"),
    [("a: \x07", (1, 4)), ("ä: 1\nöö: \x00", (2, 5)), ("a: x\nb: \ud800", (2, 4))],
)
def test_a_character_that_yaml_has_not_is_reported_at_its_place(
    text: str, place: tuple[int, int]
) -> None:
    (problem,) = problems_of(text)
    assert (problem.code, problem.line, problem.column) == ("E002", *place)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "[[a]: "])
def test_nesting_of_any_depth_is_reported_and_takes_no_stack(opening: str) -> None:
    (problem,) = problems_of("a: " + opening * 100_000)
    assert problem.code in ("E005", "E002")


def test_a_document_of_sheer_size_is_reported_once() -> None:
    (problem,) = problems_of("a: [" + "1, " * 300_000 + "1]")
    assert problem.code == "E005"
