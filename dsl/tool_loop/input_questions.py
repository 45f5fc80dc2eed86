"""Put the questions of a tool to a person as one question with one form. Pure functions."""

from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import excerpt
from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput
from coterie.dsl.values import Json


def input_prompt(step: str, tool: str, asked: AskedInput, arguments: JsonValue) -> str:
    """Return what a person reads: who asks, in which call, and what.

    Args:
        step: `team/path` of the step whose call asks.
        tool: what it calls.
        asked: the questions.
        arguments: of the call.
    """
    messages = "; ".join(question.message for question in asked.questions.values())
    if asked.is_plain:
        return f"{step} asks: {messages}"
    call_note = f" (called with {excerpt(arguments)})" if arguments else ""
    return f"The tool {tool!r}{call_note} asks: {messages}"


def input_form(asked: AskedInput) -> Json:
    """Return the JSON Schema of the answer: of one question its own, of several one key for each.

    Examples:
        One question for `sure`: `{sure: true}`. The questions `a` and `b`: `{a: {...}, b: {...}}`.
    """
    forms = {key: question.form for key, question in asked.questions.items()}
    if len(forms) == 1:
        return next(iter(forms.values()))
    return {
        "type": "object",
        "properties": {**forms},
        "required": [*forms],
        "additionalProperties": False,
    }


def suggested_input(asked: AskedInput) -> Json:
    """Return the answer of the defaults that the questions name, which may lack fields."""
    suggested = {key: _defaults(question) for key, question in asked.questions.items()}
    return next(iter(suggested.values())) if len(suggested) == 1 else {**suggested}


def answers_of(asked: AskedInput, given: Json) -> dict[str, Json]:
    """Return the answer to each question, from one that matches `input_form`."""
    if len(asked.questions) == 1:
        return dict.fromkeys(asked.questions, given)
    answers = ((key, given[key]) for key in asked.questions)
    return {key: answer if isinstance(answer, dict) else {} for key, answer in answers}


def _defaults(question: AskedForm) -> Json:
    properties = question.form.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {
        name: field["default"]
        for name, field in properties.items()
        if isinstance(field, dict) and "default" in field
    }
