"""What a server asks a person during a call, as plain data, and the answers as it takes them.

The questions are untrusted: a form is bounded, and one that no person can fill in is named instead.
"""

import json
from collections import Counter
from hashlib import sha256
from typing import TypedDict

import mcp_types as types

from coterie.activities.mcp_client.call_outcomes import InputAsked
from coterie.activities.mcp_client.input_rounds import InputReply
from coterie.dsl.json_schema.schema_grammar import grammar_problem
from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput, ServerTask
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line, shortened_text, visible

_MAX_QUESTIONS = 10
_MAX_MESSAGE_LENGTH = 2_000
_MAX_FORM_SIZE = 20_000
"""Bytes of JSON of the form of one answer."""
_MAX_STATE_LENGTH = 200_000


class Replied(TypedDict, total=False):
    """The parameters of a request that carry a reply."""

    input_responses: types.InputResponses
    request_state: str | None


def reply_fields(reply: InputReply) -> Replied:
    """Return a reply as parameters of a request."""
    responses: types.InputResponses = {
        key: accepted_input(answer) for key, answer in reply.answers.items()
    }
    return Replied(input_responses=responses, request_state=reply.state)


def accepted_input(answer: Json) -> types.ElicitResult:
    """Return the answer of a person."""
    return types.ElicitResult.model_validate({"action": "accept", "content": answer})


def input_asked(result: types.InputRequiredResult, task: ServerTask | None = None) -> InputAsked:
    """Return what a server asks for instead of a result, or before its task continues."""
    requests = result.input_requests or {}
    questions: dict[str, AskedForm] = {}
    problems: list[str] = []
    for key, request in requests.items():
        question = _form_of(request)
        if isinstance(question, AskedForm):
            questions[key] = question
        else:
            problems.append(question)
    if len(requests) > _MAX_QUESTIONS:
        problems.append(f"it has {len(requests)} questions, more than {_MAX_QUESTIONS}")
    if any(visible(key) != key or len(key) > 200 for key in requests):
        problems.append("the key of a question is too long, or not printable")
    if len(result.request_state or "") > _MAX_STATE_LENGTH:
        problems.append(f"its state has more than {_MAX_STATE_LENGTH} characters")
    if problems:
        why = shortened_text("; ".join(problems), _MAX_MESSAGE_LENGTH)
        return InputAsked(why, None, begun=task is not None)
    messages = "; ".join(form.message for form in questions.values())
    input_request = AskedInput(questions=questions, state=result.request_state, task=task)
    return InputAsked(messages, input_request)


def question_key(params: types.ElicitRequestParams, asked: Counter[str]) -> str:
    """Return the key of a question within a call: its digest, and which of its kind it is."""
    text = params.model_dump_json(include={"message", "requested_schema", "url"})
    digest = sha256(json.dumps(json.loads(text), sort_keys=True).encode()).hexdigest()[:16]
    asked[digest] += 1
    return f"{digest}.{asked[digest]}"


def asked_within(params: types.ElicitRequestParams, key: str, *, certain: bool) -> InputAsked:
    """Return what a server asks within an open call."""
    question = _form_of(types.ElicitRequest(params=params))
    if isinstance(question, str):
        return InputAsked(question, None, certain=certain, begun=True)
    request = AskedInput(questions={key: question}, within_call=True)
    return InputAsked(question.message, request, certain=certain, begun=True)


def _form_of(request: types.InputRequest) -> AskedForm | str:
    """Return the form of an answer; or, where a person cannot fill it in, what is asked."""
    match request:
        case types.ElicitRequest(params=types.ElicitRequestFormParams() as params):
            message = shortened_text(one_line(params.message), _MAX_MESSAGE_LENGTH)
            form: Json = params.requested_schema
        case types.ElicitRequest(params=params):
            message = shortened_text(one_line(params.message), _MAX_MESSAGE_LENGTH)
            return f"{message} (it wants a person to open a web page, which is not supported)"
        case _:
            return f"it asks for {one_line(request.method)}, which is not supported"
    try:
        text = json.dumps(form, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return f"{message} (the form of the answer is not JSON)"
    if len(text.encode()) > _MAX_FORM_SIZE:
        return f"{message} (the form of the answer has more than {_MAX_FORM_SIZE} bytes)"
    if form.get("type") != "object" or grammar_problem(form) is not None:
        return f"{message} (the form of the answer is not a JSON Schema of an object)"
    return AskedForm(message=message or "it gives no question", form=form)
