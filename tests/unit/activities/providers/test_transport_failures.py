"""What a broken connection is for a run: its kind, its words, and whether it is tried again."""

import httpx2
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from coterie.activities.contracts import FailureType
from coterie.activities.providers.bounded_answers import UnboundedAnswer
from coterie.activities.providers.provider_failures import Endpoint
from coterie.activities.providers.transport import from_transport
from tests.support.servers.asking import request

ENDPOINT = Endpoint("claude", "https://host.example/v1", "KEY", None)


class Answer(BaseModel):
    """An answer of a server."""

    choices: int


def invalid(kind: type, value: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    return caught.value


@pytest.mark.parametrize(
    ("error", "start", "quoted"),
    [
        (httpx2.ConnectError("no route"), "could not reach claude", "(no route)"),
        (httpx2.ConnectError(""), "could not reach claude", "(ConnectError)"),
        (httpx2.ProxyError(""), "could not reach claude", "(ProxyError)"),
        (httpx2.ReadError("reset"), "claude closed the connection", "(reset)"),
        (httpx2.ReadError(""), "claude closed the connection", "(ReadError)"),
        (httpx2.ReadTimeout(""), "claude did not complete its answer", "within 30 s"),
        (TimeoutError(), "claude did not complete its answer", "within 30 s"),
        (ValueError("half"), "claude sent an answer", "(half)"),
        (KeyError("x"), "claude closed the connection", "(KeyError)"),
        (invalid(Answer, {"choices": "x"}), "claude sent an answer", "(choices: Input should be"),
        (invalid(int, "x"), "claude sent an answer", "(Input should be a valid integer"),
    ],
)
def test_an_error_of_a_connection_is_one_sentence(
    error: Exception, start: str, quoted: str
) -> None:
    failure = from_transport(ENDPOINT, request(timeout=30.0), error)
    assert failure.message.startswith(start)
    assert quoted in failure.message
    is_outage = not isinstance(error, ValueError)
    kind = FailureType.PROVIDER_UNAVAILABLE if is_outage else FailureType.ANSWER_UNREADABLE
    assert (str(failure), failure.kind, failure.retryable) == (failure.message, kind, is_outage)


def test_the_cause_decides_and_not_what_an_sdk_wraps_it_in() -> None:
    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = httpx2.ConnectError("no route")
    assert "(no route)" in from_transport(ENDPOINT, request(), wrapped).message


def test_an_answer_without_bounds_is_not_asked_for_again() -> None:
    assert not from_transport(ENDPOINT, request(), UnboundedAnswer("too large")).retryable
