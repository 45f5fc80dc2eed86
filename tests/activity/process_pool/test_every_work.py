"""All work that the worker gives to its processes returns there what it returns here."""

import ast
from typing import Any

import pytest

from coterie.activities.agents.answer_parsing import PARSE, AnswerText, parsed
from coterie.activities.answers import AnswerProblem
from coterie.activities.process_pool.process_pool import ProcessPool
from coterie.activities.process_pool.thread_runner import ThreadRunner
from coterie.activities.process_pool.work import Work, WorkEnded, find_object
from coterie.activities.tool_functions.compute.code_program import RUN_PART, PartEnd, ProgramPart
from coterie.activities.tool_functions.compute.python_code import (
    EVALUATE_CODE,
    CodeEnd,
    PythonInput,
    PythonResult,
)
from coterie.activities.tool_functions.web.page_work import (
    ALLOWS,
    EXTRACT,
    PageSource,
    RobotsQuestion,
)
from coterie.documents.product_capabilities import capabilities
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.json_schema.schema_checker import UnusableSchema
from coterie.dsl.values import Json
from coterie.mcp_server.written_documents import CHECK_WRITTEN, WrittenDocument
from coterie.worker.started_documents import COMPILE, StartedDocument
from tests.law.sources import by_import, modules

HTML = "<html><head><title>T</title></head><body><article><p>A text of some length.</p></article>"
TEAM = "teams: {main: {tasks: [{id: a, set: {x: 1}}]}}"
SCHEMA: Json = {"type": "object", "required": ["a"]}
GIVEN: dict[str, tuple[Work[Any, Any], list[Any]]] = {
    EXTRACT.name: (EXTRACT, [PageSource(url="https://a.b/", content=HTML.encode())]),
    ALLOWS.name: (
        ALLOWS,
        [
            RobotsQuestion(text=f"User-agent: *\n{rule}: /x", url="https://a.b/x", product="C")
            for rule in ("Allow", "Disallow")
        ],
    ),
    EVALUATE_CODE.name: (
        EVALUATE_CODE,
        [PythonInput(code="1 + 1"), PythonInput(code="print('a')\n1 / 0")],
    ),
    RUN_PART.name: (
        RUN_PART,
        [
            ProgramPart(input=PythonInput(code=code), functions={"look": ("path",)}, seed="a")
            for code in ("await look('a')", "await look(", "open")
        ],
    ),
    PARSE.name: (
        PARSE,
        [AnswerText(text=text, schema_=SCHEMA) for text in ('{"a": 1}', "{}", "no")],
    ),
    COMPILE.name: (
        COMPILE,
        [
            StartedDocument([SourceText("inline", text, trusted=False)], capabilities()).packed()
            for text in (TEAM, "teams: 5", "a: [")
        ],
    ),
    CHECK_WRITTEN.name: (
        CHECK_WRITTEN,
        [
            WrittenDocument(
                "t", [SourceText("t.yml", text, trusted=False)], capabilities(), draws=True
            ).packed()
            for text in (TEAM, "teams: 5", "a: [")
        ],
    ),
}


def test_the_table_has_all_work() -> None:
    found = [
        f"{by_import(module)}:{target.id}"
        for room in ("activities", "coterie")
        for module, file in modules(room)
        if " = Work[" in (text := file.read_text())
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and "Work[" in ast.unparse(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    assert sorted(found) == sorted(GIVEN)


async def test_work_returns_the_same_in_a_process_as_here() -> None:
    pool = ProcessPool()
    try:
        for name, (work, inputs) in GIVEN.items():
            assert find_object(name) is work
            for given in inputs:
                there, here = await pool.run(work, given), work.call(given)
                assert _comparable(there) == _comparable(here)
    finally:
        await pool.close()


def _comparable(value: Any) -> Any:
    """Without the time that code has taken."""
    match value:
        case CodeEnd(result=PythonResult() as result):
            return result.model_copy(update={"seconds": 0})
        case PartEnd():
            return value.model_copy(update={"state": bool(value.state)})
        case _:
            return value


class Ended:
    """A runner whose processes end."""

    def __init__(self, limit: Any) -> None:
        self._limit = limit

    async def run(self, work: Work[Any, Any], given: Any, cpu: int | None = None) -> Any:
        raise WorkEnded("it needs more than 10 s of CPU", self._limit)


LARGE = '{"a": "' + "x" * 60_000 + '"}'


async def test_a_large_answer_is_parsed_by_the_runner_and_never_asked_for_again_without_need() -> (
    None
):
    assert await parsed(LARGE, SCHEMA, Ended(None)) == {"a": "x" * 60_000}
    costly = await parsed(LARGE, SCHEMA, Ended("cpu"))
    assert isinstance(costly, AnswerProblem)
    assert "more than 10 s of CPU" in costly.message
    problem = await parsed(LARGE, {"type": "array"}, ThreadRunner())
    assert isinstance(problem, AnswerProblem)
    with pytest.raises(UnusableSchema):
        await parsed(LARGE, {"$ref": "#/no"}, ThreadRunner())
