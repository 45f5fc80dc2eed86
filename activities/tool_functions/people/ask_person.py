"""`Person.ask`: put a question to a person, and return the answer with who gave it.

The first call fails with the question; the run waits for a person, and calls again with the answer.
"""

from typing import Annotated

from pydantic import Field, JsonValue, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.dsl.json_schema.schema_grammar import grammar_problem
from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput
from coterie.dsl.sizes import json_size
from coterie.dsl.values import Documented, Json
from coterie.dsl.visible import one_line

MAX_QUESTION_LENGTH = 2_000
MAX_ANSWER_LENGTH = 20_000
MAX_FORM_SIZE = 20_000
"""Bytes of JSON of the form of an answer."""

_KEY = "answer"

Choice = Annotated[str, Field(min_length=1, max_length=200)]


class PersonQuestion(Documented):
    """What to ask."""

    question: str = Field(min_length=1, max_length=MAX_QUESTION_LENGTH)
    """The question, with all that the person needs to know to answer it."""
    choices: list[Choice] | None = Field(default=None, min_length=2, max_length=20)
    """The possible answers. Default: the person writes a text."""
    answer_schema: Json | None = None
    """JSON Schema of an object, instead of `choices`: the person fills in its fields."""


class PersonAnswer(Documented):
    """What the person answered."""

    answer: JsonValue
    """A text, one of `choices`, or an object that matches `answer_schema`."""
    by: str
    """Who answered, as the run recorded it."""


async def ask_person(value: PersonQuestion, context: FunctionContext) -> PersonAnswer:
    """Return the answer of a person; without one, ask.

    Raises:
        FunctionRefusal: Nobody has answered yet, or the form of the answer is unusable.
    """
    form = _form(value)
    reply = context.given_input
    if reply is None:
        question = one_line(value.question)
        request = AskedInput(
            questions={_KEY: AskedForm(message=question, form=form)}, is_plain=True
        )
        raise FunctionRefusal(
            f"it asks a person, and nobody can answer it here: {question}",
            FailureType.INPUT_REQUIRED,
            request,
        )
    answer = reply.answers.get(_KEY, {})
    own = value.answer_schema is not None
    return PersonAnswer(answer=answer if own else answer.get(_KEY), by=reply.by)


def _form(value: PersonQuestion) -> Json:
    """Return the JSON Schema of the answer that a person gives.

    Raises:
        FunctionRefusal: The wanted one is unusable.
    """
    schema, choices = value.answer_schema, value.choices
    if schema is None:
        text: Json = {"type": "string", "minLength": 1, "maxLength": MAX_ANSWER_LENGTH}
        own: Json = text if choices is None else {"enum": [*dict.fromkeys(choices)]}
        return {
            "type": "object",
            "properties": {_KEY: own},
            "required": [_KEY],
            "additionalProperties": False,
        }
    if choices is not None:
        raise FunctionRefusal("give `choices` or `answer_schema`, not both")
    if json_size(schema) > MAX_FORM_SIZE:
        raise FunctionRefusal(f"`answer_schema` has more than {MAX_FORM_SIZE} bytes of JSON")
    problem = grammar_problem(schema)
    if schema.get("type") != "object" or problem is not None:
        why = "its `type` must be `object`" if problem is None else str(problem)
        raise FunctionRefusal(f"`answer_schema` is not a JSON Schema of an object: {why}")
    return schema


ASK = ToolFunction[PersonQuestion, PersonAnswer](
    name="Person.ask",
    description="Asks a person, waits for the answer, and returns it with the person's name. Use "
    "it when only a person can know or decide.",
    effect="read",
    input=TypeAdapter(PersonQuestion),
    output=TypeAdapter(PersonAnswer),
    run=ask_person,
    timeout=10.0,
    errors={
        FailureType.FUNCTION_REFUSED: "`choices` and `answer_schema` are both given, or the schema "
        "is unusable",
        FailureType.FUNCTION_FAILED: "the system reported an error",
        FailureType.INPUT_REQUIRED: "no person can be asked here, as in `coterie tools call`",
    },
    asks=True,
)
