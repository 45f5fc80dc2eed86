"""No function is called more than twice as often for twice the document, whatever is large in it.

The work of a single call is not seen here: `make bench ARGS=documents` measures the CPU time.
"""

import cProfile
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from types import CodeType

import pytest

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.template_reads import reads_of
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.logic.expressions import both_formulas
from coterie.dsl.templates import template
from tests.support.compiling import CAPABILITIES
from tests.support.documents.document_shapes import SHAPES, document_of, doubled

_BYTES, _PARTS = 2_000, 10
_CONSTANT = 60
"""Calls that a document may cost besides, whatever its size."""
_BOUNDED = (
    "dsl/logic/",
    "dsl/evaluate/operators/",
    "dsl/json_values.py",
    "difflib.py",
    "dsl/analysis/sessions/",
    "RoutingFormulas.at_exit",
    "after_failures",
    "Choices._taken_before",
)
"""Where a bound stands: the effort that all questions of a document share, the names compared."""


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


def calls_with_caches(
    size: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Counter[str], int]:
    """Count the calls, and the templates parsed, when so few parsed templates are kept.

    The real cache is too small for a document of 1 MB: what each pass parses anew is seen here.
    """
    parsed = lru_cache(maxsize=size)(template.parse_cached.__wrapped__)
    monkeypatch.setattr(template, "parse_cached", parsed)
    reads_of.cache_clear()  # documents of other shapes may have the same texts
    both_formulas.cache_clear()
    calls = calls_of(text)
    return calls, parsed.cache_info().misses


_BOUNDED_OF_SHAPE = {
    "messages": (
        "traversal/step_",
        "StepBase.lists",
        "form_of",
        "typing.py:cast",
        "<string>:",
        "__new__",
    ),
    "failures": ("step_walk.py:walk",),
    "words of no enum": (
        "condition_checks.py:",
        "jsonable.py:",
        "json/encoder.py:",
        "typing.py:cast",
    ),
    "expressions": ("json/__init__.py:", "json/encoder.py:", "dataclasses.py:", "<string>:"),
}
"""What such an effort bounds also in one shape: each message, each failure follows all steps; the
solver compares what one rule says with what all others say; a problem lists 100 words."""


@pytest.mark.parametrize("shape", SHAPES)
def test_no_function_is_called_more_than_twice_as_often_for_twice_the_document(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = doubled(shape, _BYTES, _PARTS)
    size = 2 + sum("{{" in line for line in small.splitlines())
    few, parsed_once = calls_with_caches(size, small, monkeypatch)
    many, parsed = calls_with_caches(size, large, monkeypatch)
    assert parsed <= 2 * parsed_once + 2
    bounded = (*_BOUNDED, *_BOUNDED_OF_SHAPE.get(shape, ()))
    grown = {
        name: (few[name], number)
        for name, number in many.items()
        if number > 2.3 * few[name] + _CONSTANT and not any(part in name for part in bounded)
    }
    assert sorted(grown) == []


def test_the_teams_whose_questions_are_left_out_are_named() -> None:
    text = document_of("expressions", 10_000)
    found = analysed(compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a")).findings
    (left_out,) = [one for one in found if one.code == "W531"]
    assert left_out.path == "orchestration.teams.main"
    assert "questions about the conditions of 'main': " in left_out.message


def test_a_thousand_rules_are_analysed_to_the_end() -> None:
    text = document_of("teams of rules", 110_000)
    found = analysed(compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a")).findings
    assert [one.code for one in found] == []
