"""No pass over a document grows faster than the document, in whichever direction it is large."""

import cProfile
from collections import Counter
from contextlib import suppress
from types import CodeType

import pytest

from dsl.analysis.findings import analysed
from dsl.compile.compiler import SourceText, compile_sources
from dsl.errors import InvalidDocument
from tests.support.compiling import CAPABILITIES
from tests.support.documents.document_shapes import SHAPES, document_of

_BYTES = 4_000
_BOUNDED = (
    "dsl/logic/",
    "dsl/evaluate/operators/",
    "dsl/json_values.py",
    "dsl/analysis/sessions/",
    "RoutingFormulas.at_exit",
    "after_failures",
    "Choices._taken_before",
)
"""Where the effort that all questions of a document share bounds the work."""


def calls_of(text: str) -> Counter[str]:
    """How often each function is called to compile and to analyse a document."""
    profile = cProfile.Profile()
    with profile, suppress(InvalidDocument):  # of some shapes, every line has a mistake
        analysed(compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a"))
    calls: Counter[str] = Counter()
    for entry in profile.getstats():
        code = entry.code
        if isinstance(code, CodeType):
            name = f"{code.co_filename}:{code.co_qualname}"
            calls[name] += entry.callcount
            for inner in entry.calls or ():
                if isinstance(inner.code, str):  # a function in C, counted with its caller
                    calls[f"{name} {inner.code}"] += inner.callcount
    return calls


_BOUNDED_OF_SHAPE = {
    "messages": ("traversal/step_", "typing.py:cast", "<string>:", "__new__"),
    "failures": ("step_walk.py:walk",),
}
"""What such an effort bounds also in one shape: each message, each failure follows all steps."""


@pytest.mark.parametrize("shape", SHAPES)
def test_no_function_is_called_more_than_twice_as_often_for_twice_the_document(shape: str) -> None:
    small, large = document_of(shape, _BYTES), document_of(shape, 2 * _BYTES)
    for text in (small, large):
        calls_of(text)  # what is cached is cached for both
    few, many = calls_of(small), calls_of(large)
    bounded = (*_BOUNDED, *_BOUNDED_OF_SHAPE.get(shape, ()))
    grown = {
        name: (few[name], number)
        for name, number in many.items()
        if number > 2.3 * few[name] + 300 and not any(part in name for part in bounded)
    }
    assert sorted(grown) == []


def test_the_teams_whose_questions_are_left_out_are_named() -> None:
    text = document_of("expressions", 100_000)
    found = analysed(compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a")).findings
    (left_out,) = [one for one in found if one.code == "W531"]
    assert left_out.path == "orchestration.teams.main"
    assert "questions about the conditions of 'main': " in left_out.message


def test_a_thousand_rules_are_analysed_to_the_end() -> None:
    text = document_of("teams of rules", 110_000)
    found = analysed(compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a")).findings
    assert [one.code for one in found] == []
