"""Status, headers and body of an error: when it is tried again, and what people read."""

from datetime import UTC, datetime

import pytest

from coterie.activities.contracts import FailureType
from coterie.activities.providers.http_statuses import from_status, retry_after
from coterie.activities.providers.provider_failures import (
    MAX_DELAY,
    Endpoint,
    ProviderFailure,
    to_application_error,
)
from tests.support.servers.asking import request

ENDPOINT = Endpoint("claude", "https://u:hush@host.example/v1?k=hush", "CLAUDE_KEY", "k-12345")
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def failed(status: int, body: object = "", **headers: str) -> ProviderFailure:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_status(ENDPOINT, request(), status, named, body)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "?", "retry-after": "9"}, 9.0),
        ({"retry-after": "Fri, 01 May 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 01 May 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Fri, 01 May 2026 11:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after_header_is_read_in_every_form(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 520, 529])
def test_status_that_may_pass_is_retried(status: int) -> None:
    failure = failed(status)
    assert failure.retryable
    limited = FailureType.RATE_LIMITED if status == 429 else FailureType.PROVIDER_UNAVAILABLE
    assert failure.kind == limited


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 413, 415, 422, 451])
def test_status_that_will_not_pass_is_final(status: int) -> None:
    assert (failed(status).kind, failed(status).retryable) == (FailureType.PROVIDER_REFUSED, False)


@pytest.mark.parametrize(("length", "end"), [(300, "x"), (301, "…"), (999, "…")])
def test_a_quote_of_a_server_is_short(length: int, end: str) -> None:
    quote = ENDPOINT.quote("x" * length)
    assert (len(quote), quote[-1]) == (300, end)


def test_header_names_are_read_in_any_case() -> None:
    failure = failed(500, X_Should_Retry="false", Retry_After="3")
    assert (failure.retryable, failure.retry_after) == (False, 3.0)
    assert failure.kind == FailureType.PROVIDER_UNAVAILABLE
    assert "asking to wait" not in failure.message


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "prompt is too long: 9 tokens > 8"}},
        {"message": "no", "code": "context_length_exceeded"},
    ],
)
def test_a_prompt_that_is_too_long_has_a_type_of_its_own(body: object) -> None:
    failure = failed(400, body, X_Should_Retry="true")
    assert (failure.kind, failure.retryable) == ("ContextWindowExceeded", False)


def test_a_429_that_means_no_money_is_final() -> None:
    body = {"message": "You exceeded your quota", "code": "insufficient_quota"}
    assert failed(429, body).message == (
        "claude requires payment first (402: You exceeded your quota); "
        "check the account's plan and billing"
    )
    assert not failed(429, body).retryable


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"error": {"message": "prompt is too long: 9 tokens > 8"}}, "prompt too long"),
        (400, {"message": "no", "code": "context_length_exceeded"}, "prompt too long"),
        (400, {"message": "This model's maximum context length is 4096"}, "prompt too long"),
        (400, {"error": {"message": "no", "type": "exceed_context_size_error"}}, "prompt too long"),
        (413, {"error": {"message": "no", "type": "request_too_large"}}, "as too large"),
        (
            400,
            {"error": {"message": "`temperature` is not supported by this model"}},
            "does not accept this `temperature` or `top_p` with 'm-1'",
        ),
        (
            400,
            {"message": "Unsupported value: 'temperature' does not support 0.2"},
            "remove them from the persona",
        ),
        (
            400,
            {"error": {"message": "output_config.format.schema: bad"}},
            "does not accept this output schema with 'm-1'",
        ),
        (
            400,
            {"message": "Function tools are not supported here. Please use /v1/responses instead."},
            "set `api: responses` on the provider, or `effort: none` on the persona",
        ),
        (
            400,
            {"error": {"message": "Encrypted content is not supported with this model."}},
            "set `reasoning: false` on the provider",
        ),
        (
            400,
            {"message": "Unsupported value: 'reasoning.effort' does not support 'max'"},
            "does not accept this `effort` with 'm-1'",
        ),
        (
            400,
            {"error": {"message": "thinking.type: enabled is not supported by this model"}},
            "does not accept this `thinking` with 'm-1'",
        ),
        (
            400,
            {"error": {"message": "tools.0.custom.input_schema: JSON schema is invalid"}},
            "does not accept the input schema of a tool with 'm-1'",
        ),
        (400, [{"error": {"code": 400, "message": "no signature"}}], "(400: no signature)"),
        (401, {"error": {"message": "invalid x-api-key"}}, "set a valid CLAUDE_KEY on the worker"),
        (403, {}, "check the permissions of the key in CLAUDE_KEY"),
        (404, {"detail": "Not Found"}, "does not know the model 'm-1'"),
        (418, {"error": "teapot"}, "refused the request (418: teapot)"),
        (400, "plain words", "(400: plain words)"),
        (502, "<html><body>Bad gateway</body></html>", "(502: an HTML page)"),
        (500, None, "had an internal error (500)"),
        (500, ["odd"], "had an internal error (500: odd)"),
        (500, [], "had an internal error (500)"),
    ],
)
def test_the_message_says_what_it_means_and_what_to_do(
    status: int, body: object, expected: str
) -> None:
    message = failed(status, body).message
    assert expected in message
    assert message.startswith("claude ")


def test_a_long_answer_is_shortened_and_put_on_one_line() -> None:
    message = failed(400, "a\nb " + "x" * 5000).message
    assert len(message) < 400
    assert "\n" not in message


def test_secrets_in_words_and_addresses_never_reach_a_message() -> None:
    echo = "Incorrect API key k-12345 or sk-proj-****wxyz given"
    messages = [failed(status, echo).message for status in (401, 404, 500)]
    assert not any(secret in "".join(messages) for secret in ("k-12345", "wxyz", "hush"))
    assert "k-12345" not in repr(ENDPOINT)
    assert "hush" not in repr(ENDPOINT)


def test_temporal_waits_as_long_as_the_server_asks_within_reason() -> None:
    limited = ProviderFailure(FailureType.RATE_LIMITED, "slow", retryable=True, retry_after=2.5)
    error = to_application_error(limited)
    assert (error.message, error.type) == ("slow", FailureType.RATE_LIMITED)
    assert not error.non_retryable
    assert error.next_retry_delay is not None
    assert 2.5 <= error.next_retry_delay.total_seconds() <= 2.75
    assert error.details == ()
    for seconds in (86_400.0, 1e300):
        long = ProviderFailure(FailureType.RATE_LIMITED, "", retryable=True, retry_after=seconds)
        delay = to_application_error(long).next_retry_delay
        assert delay is not None
        assert MAX_DELAY <= delay <= MAX_DELAY * 1.1


def test_those_who_are_asked_to_wait_at_once_do_not_come_back_at_once() -> None:
    limited = ProviderFailure(FailureType.RATE_LIMITED, "", retryable=True, retry_after=60)
    assert len({to_application_error(limited).next_retry_delay for _ in range(20)}) > 15


def test_temporal_does_not_repeat_what_is_final() -> None:
    final = ProviderFailure(FailureType.PROVIDER_REFUSED, "no", retryable=False, retry_after=3)
    error = to_application_error(final)
    assert error.non_retryable
    assert error.next_retry_delay is None
