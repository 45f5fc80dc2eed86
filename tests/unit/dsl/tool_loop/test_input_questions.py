"""The questions of a tool become one question with one form, and one answer answers them all."""

from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput
from coterie.dsl.tool_loop.input_questions import (
    answers_of,
    input_form,
    input_prompt,
    suggested_input,
)
from coterie.dsl.values import Json

SURE: Json = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
NAME: Json = {
    "type": "object",
    "properties": {"name": {"default": "cat"}, "age": {"type": "integer"}, "any": True},
}
FORMLESS: Json = {"type": "object"}


def asked(*forms: Json, is_plain: bool = False) -> AskedInput:
    questions = {
        f"q{number}": AskedForm(message=f"Question {number}?", form=form)
        for number, form in enumerate(forms, 1)
    }
    return AskedInput(questions=questions, is_plain=is_plain)


def test_the_prompt_names_the_tool_and_its_arguments_or_the_step_that_asks() -> None:
    both = "Question 1?; Question 2?"
    assert input_prompt("a/b", "rm", asked(SURE, NAME), {"path": "x"}) == (
        f'The tool \'rm\' (called with {{"path": "x"}}) asks: {both}'
    )
    assert input_prompt("a/b", "rm", asked(SURE), {}) == "The tool 'rm' asks: Question 1?"
    plain = asked(SURE, NAME, is_plain=True)
    assert input_prompt("a/b", "rm", plain, {"path": "x"}) == f"a/b asks: {both}"


def test_one_question_keeps_its_form_and_several_get_a_key_each() -> None:
    assert input_form(asked(SURE)) == SURE
    assert input_form(asked(SURE, NAME)) == {
        "type": "object",
        "properties": {"q1": SURE, "q2": NAME},
        "required": ["q1", "q2"],
        "additionalProperties": False,
    }


def test_the_suggested_answer_has_the_defaults_of_the_questions() -> None:
    assert suggested_input(asked(NAME)) == {"name": "cat"}
    assert suggested_input(asked(FORMLESS)) == {}
    assert suggested_input(asked(SURE, NAME)) == {"q1": {}, "q2": {"name": "cat"}}


def test_an_answer_belongs_to_its_question() -> None:
    assert answers_of(asked(SURE), {"sure": True}) == {"q1": {"sure": True}}
    given: Json = {"q1": {"sure": True}, "q2": "no mapping"}
    assert answers_of(asked(SURE, NAME), given) == {"q1": {"sure": True}, "q2": {}}
