"""Messages that enter a run: one argument of plain JSON, or a refusal that says what is wrong."""

import json

import pytest
from pydantic import BaseModel, ConfigDict
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from coterie.dsl.errors import RunRefused
from coterie.dsl.values import JsonValue
from coterie.storage.wire import data_converter
from coterie.workflows.core import messages
from coterie.workflows.core.decoding import (
    INVALID_REFERENCE,
    argument,
    decoded,
    message,
    plain,
    size_of,
)


class Asked(BaseModel):
    """A message with a field that must be there, and one that need not."""

    model_config = ConfigDict(extra="forbid")

    task: str = "all"
    number: int = 1


@pytest.fixture(autouse=True)
def _converter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "payload_converter", lambda: data_converter.payload_converter)


def raw(data: bytes, encoding: bytes = b"json/plain") -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding}, data=data))


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


NULL = raw(b"", b"binary/null")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ((), None),
        ((NULL,), None),
        ((raw(b'{"a": [1, null]}'),), {"a": [1, None]}),
        ((raw(b"7"),), 7),
        ((raw(nested(100)),), json.loads(nested(100))),
    ],
    ids=["nothing", "null", "an object", "a number", "as deep as allowed"],
)
def test_a_message_is_the_json_of_its_argument(
    given: tuple[RawValue, ...], value: JsonValue
) -> None:
    assert plain(given) == value


@pytest.mark.parametrize(
    ("given", "because"),
    [
        ((raw(b"1"), raw(b"2")), "a message has one argument, and this one has 2"),
        (
            (raw(b"1", b"e" * 121),),
            f"its encoding is '{'e' * 120}'; a message is JSON, 'json/plain'",
        ),
        ((RawValue(Payload(data=b"1")),), "its encoding is ''; a message is JSON, 'json/plain'"),
        (
            (raw(b"no such value", INVALID_REFERENCE),),
            "it pretends to be a reference to a stored value: no such value",
        ),
        ((raw(nested(101)),), "it is nested deeper than the 100 levels that are allowed"),
        (
            (raw(b'{"a": ' * 101 + b"1" + b"}" * 101),),
            "it is nested deeper than the 100 levels that are allowed",
        ),
    ],
    ids=["two", "encoding", "no encoding", "reference", "deep lists", "deep objects"],
)
def test_another_argument_is_refused_with_the_reason(
    given: tuple[RawValue, ...], because: str
) -> None:
    with pytest.raises(RunRefused) as refused:
        plain(given)
    assert str(refused.value) == because


@pytest.mark.parametrize(
    ("data", "because"),
    [
        (b"{", "it is no JSON: "),
        (b"\xff", "it is no JSON: "),
        (b"NaN", "it is not a JSON number"),
        (b'{"a": 1e999}', "'a' is not a JSON number"),
        (b'{"a": "\\ud800"}', "'a' contains half of a surrogate pair"),
        (b'{"by": "ann", "by": "bob"}', "it has the key 'by' twice in one object"),
    ],
)
def test_what_json_parsers_read_differently_is_refused(data: bytes, because: str) -> None:
    with pytest.raises(RunRefused, match=because):
        plain((raw(data),))
    with pytest.raises(RunRefused, match="this is not Asked: "):
        decoded(raw(data), Asked, ours=False)


def test_the_input_of_a_continued_run_is_read_as_the_run_wrote_it() -> None:
    assert decoded(raw(b'{"number": 2, "number": 3}'), Asked, ours=True) == Asked(number=3)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ((), Asked()),
        ((NULL,), Asked()),
        ((raw(b'{"task": "a"}'),), Asked(task="a")),
    ],
    ids=["nothing", "null", "an object"],
)
def test_a_message_without_an_argument_is_empty(given: tuple[RawValue, ...], asked: Asked) -> None:
    assert message(given, Asked) == asked


def test_a_refused_message_names_its_model_and_each_wrong_field() -> None:
    wrong = raw(b'{"task": 1, "number": "x", "more": 1}')
    with pytest.raises(RunRefused) as refused:
        message((wrong,), Asked)
    assert str(refused.value) == (
        "this is not Asked: 'task' must be a text; 'number' must be a whole number; "
        "unknown key 'more' (allowed: number, task)"
    )
    with pytest.raises(RunRefused, match="this is not Asked: it must be an object"):
        message((raw(b"7"),), Asked)
    with pytest.raises(RunRefused, match="this is not Asked: a message has one argument"):
        message((wrong, wrong), Asked)


def test_an_argument_that_the_sdk_passes_undecoded_is_decoded_or_refused() -> None:
    assert decoded(raw(b'{"number": 2}'), Asked, ours=False) == Asked(number=2)
    with pytest.raises(RunRefused, match="this is not Asked: 'number' must be a whole number"):
        decoded(raw(b'{"number": []}'), Asked, ours=False)
    with pytest.raises(RunRefused, match="this is not Asked: "):
        decoded(raw(b"{"), Asked, ours=False)
    with pytest.raises(RunRefused, match="this is not Asked: "):
        decoded(raw(b"1", b"unknown"), Asked, ours=False)
    with pytest.raises(RunRefused, match="it pretends to be a reference"):
        decoded(raw(b"1", INVALID_REFERENCE), Asked, ours=False)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ((), Asked()),
        ((raw(b'{"number": 2}'),), Asked(number=2)),
        ((raw(b'"a"'),), Asked(task="a")),
    ],
    ids=["nothing", "an object", "the value of its key"],
)
def test_a_question_is_an_object_or_the_one_value_that_it_is_about(
    given: tuple[RawValue, ...], asked: Asked
) -> None:
    assert argument(given, Asked, "task") == asked


@pytest.mark.parametrize("given", [(raw(b"[]"),), (raw(b'{"x": 1}'),), (raw(b"{"),), (NULL, NULL)])
def test_anything_else_is_no_question(given: tuple[RawValue, ...]) -> None:
    with pytest.raises(RunRefused, match=r"^this is not a question$"):
        argument(given, Asked, "task")


def test_the_size_of_a_message_is_that_of_all_its_arguments() -> None:
    assert size_of((raw(b"12345"), raw(b"6"))) == 6
    assert size_of(("ab",)) == len("'ab'")
    assert size_of(()) == 0


@pytest.mark.parametrize(
    "model",
    [
        model
        for model in vars(messages).values()
        if isinstance(model, type)
        and model.__module__ == messages.__name__
        and model.__name__.endswith(("Input", "Answer", "Control"))
        and model is not messages.ForkInput  # part of the input of a run
    ],
)
def test_a_refusal_names_no_class(model: type[BaseModel]) -> None:
    with pytest.raises(RunRefused) as refused:
        message((raw(b'{"tsak": 1}'),), model)
    assert model.__name__ not in str(refused.value)
    assert "unknown key 'tsak' (allowed: " in str(refused.value)
