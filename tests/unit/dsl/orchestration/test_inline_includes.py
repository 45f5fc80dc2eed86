"""A document that a run brings along includes nothing: the worker has only its text."""

from tests.support.compiling import problems_of

_DOCUMENT = """
include: [parts/*.yml]
orchestration:
  entry_team: work
  teams: {work: {tasks: [{name: note, type: set, values: {a: 1}}]}}
"""


def test_an_include_of_an_inline_document_is_refused_by_name() -> None:
    (problem,) = problems_of(_DOCUMENT, trusted=False)
    assert (problem.code, problem.line) == ("E601", 2)
    assert "`include`" in problem.message
    assert "coterie run" in problem.fix


def test_the_reader_of_the_files_resolves_includes_and_the_compiler_does_not() -> None:
    assert problems_of(_DOCUMENT) == ()
