"""Parse answers of models beside the event loop: large ones in a process of the pool."""

from pydantic import JsonValue, TypeAdapter

from coterie.activities.answers import AnswerProblem, parse_answer
from coterie.activities.process_pool.work import Work, WorkEnded, WorkRunner
from coterie.activities.threads.run_threads import TURN_THREADS
from coterie.dsl.json_schema.schema_checker import UnusableSchema
from coterie.dsl.values import Frozen, Json

_LARGE = 50_000
"""Characters; a shorter answer is read within a few milliseconds."""


class AnswerText(Frozen):
    """An answer, and the schema that it must match."""

    text: str
    schema_: Json


class ParsedAnswer(Frozen):
    """Its data, or why there are none."""

    data: JsonValue = None
    problem: str | None = None
    unusable_schema: str | None = None


def parse(answer: AnswerText) -> ParsedAnswer:
    """Parse an answer; blocking."""
    try:
        result = parse_answer(answer.text, answer.schema_)
    except UnusableSchema as error:
        return ParsedAnswer(unusable_schema=str(error))
    if isinstance(result, AnswerProblem):
        return ParsedAnswer(problem=result.message)
    return ParsedAnswer(data=result)


PARSE = Work[AnswerText, ParsedAnswer](
    "coterie.activities.agents.answer_parsing:PARSE",
    "coterie.activities.agents.answer_parsing:parse",
    TypeAdapter(AnswerText),
    TypeAdapter(ParsedAnswer),
)


async def parsed(text: str, schema: Json | None, runner: WorkRunner) -> JsonValue | AnswerProblem:
    """Return the data of an answer, or its problem.

    Raises:
        UnusableSchema: The schema itself is unusable; no answer could match it.
    """
    if schema is None:
        return parse_answer(text, None)
    if len(text) <= _LARGE:  # off the event loop: a hostile schema uses up its CPU budget
        return await TURN_THREADS.run(parse_answer, text, schema)
    try:
        answer = await runner.run(PARSE, AnswerText(text=text, schema_=schema))
    except WorkEnded as end:
        if end.limit is None:  # the answer is paid for
            return await TURN_THREADS.run(parse_answer, text, schema)
        return AnswerProblem(f"the answer is too large to be read: {end}")
    if answer.unusable_schema is not None:
        raise UnusableSchema(answer.unusable_schema)
    return answer.data if answer.problem is None else AnswerProblem(answer.problem)
