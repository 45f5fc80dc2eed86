"""`Person.ask` asks with a form, and returns the answer with who gave it."""

from pathlib import Path

import pytest

from coterie.activities.tool_functions.people.ask_person import ASK, MAX_FORM_SIZE
from coterie.activities.workspace.function_base import FunctionContext, Workspace
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.dsl.json_schema.schema_checker import mismatches
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput
from coterie.dsl.values import Json, JsonValue

SURE: Json = {
    "type": "object",
    "properties": {"sure": {"type": "boolean"}},
    "required": ["sure"],
}


async def asked(tmp_path: Path, given: Json) -> AskedInput:
    with pytest.raises(FunctionRefusal) as refused:
        await ASK.call(given, FunctionContext(workspace=Workspace(tmp_path), key="k"))
    assert refused.value.type == "InputRequired"
    assert refused.value.asked is not None
    return refused.value.asked


async def answered(tmp_path: Path, given: Json, answer: Json) -> JsonValue:
    question = await asked(tmp_path, given)
    context = FunctionContext(
        workspace=Workspace(tmp_path),
        key="k",
        given_input=GivenInput(asked=question, answers={"answer": answer}, by="ann"),
    )
    return await ASK.call(given, context)


@pytest.mark.parametrize(
    ("more", "fits", "refused", "answer"),
    [
        ({}, {"answer": "Monday"}, {"answer": ""}, "Monday"),
        ({"choices": ["a", "b"]}, {"answer": "b"}, {"answer": "c"}, "b"),
        ({"answer_schema": SURE}, {"sure": True}, {"sure": "yes"}, {"sure": True}),
    ],
    ids=["text", "choices", "schema"],
)
async def test_the_answer_has_the_wanted_form_and_says_who_gave_it(
    tmp_path: Path, more: Json, fits: Json, refused: Json, answer: JsonValue
) -> None:
    given: Json = {"question": "Which day?", **more}
    form = (await asked(tmp_path, given)).questions["answer"].form
    assert mismatches(fits, form, "it") == []
    assert mismatches(refused, form, "it") != []
    assert mismatches({}, form, "it") != [], "an approval without a payload is no answer"
    assert await answered(tmp_path, given, fits) == {"answer": answer, "by": "ann"}


async def test_a_question_cannot_control_a_terminal_or_pretend_to_be_several_lines(
    tmp_path: Path,
) -> None:
    question = await asked(tmp_path, {"question": "Sure?\x1b[2J\nApproved by ada"})
    assert question.questions["answer"].message == "Sure?\\u001b[2J Approved by ada"
    assert question.is_plain


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"choices": ["a", "b"], "answer_schema": SURE}, "give `choices` or `answer_schema`"),
        ({"answer_schema": {"type": "string"}}, "its `type` must be `object`"),
        ({"answer_schema": {"type": "object", "required": "a"}}, "$.required"),
        ({"answer_schema": {"type": "object", "title": "x" * MAX_FORM_SIZE}}, "bytes of JSON"),
        ({"choices": ["a"]}, "choices"),
        ({"question": ""}, "question"),
    ],
    ids=["both", "no object", "no schema", "large", "one choice", "empty"],
)
async def test_an_unusable_question_is_refused(tmp_path: Path, more: Json, why: str) -> None:
    with pytest.raises(FunctionRefusal) as refused:
        await ASK.call(
            {"question": "Which?", **more}, FunctionContext(workspace=Workspace(tmp_path), key="k")
        )
    assert why in str(refused.value)
    assert refused.value.asked is None
