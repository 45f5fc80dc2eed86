"""Turn an HTTP error into a ProviderFailure: the server's own message first, then the status code.

Pure and without an SDK: status, headers and body in, failure out. Also for errors inside an answer
that started with status 200, as streams and some gateways send them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import cast

from coterie.activities.contracts import FailureType
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import Endpoint, ProviderFailure

_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status that corresponds to an error type inside a 200 answer."""

_FINAL = re.compile(
    r"invalid_|image_|unsupported_|empty_|bio_policy|misalignment_|data_residency_|context_length_"
)
"""Error codes inside a 200 answer that every attempt would get."""

_NO_MONEY = ("insufficient_quota", "billing_error")
"""Some servers send these as 429, but waiting does not help."""


@dataclass(frozen=True, slots=True)
class _Case:
    """What an error means to its reader; the first matching case applies."""

    statuses: tuple[int, ...]
    what: str
    fix: str
    words: re.Pattern[str] | None = None
    """Pattern for the server's message or code; None matches all."""
    kind: str | None = None
    """The type of failure; None: by the status."""

    def fits(self, status: int, server_text: str) -> bool:
        return status in self.statuses and (
            self.words is None or bool(self.words.search(server_text))
        )


_TOO_LONG = re.compile(r"prompt is too long|context[ _](length|window|limit|size)", re.IGNORECASE)
_SAMPLING = re.compile(r"\b(temperature|top_p)\b")
_USE_RESPONSES = re.compile(r"/v1/responses")
_EFFORT = re.compile(r"reasoning_effort|reasoning\.effort|\beffort\b")
_SUMMARY = re.compile(r"reasoning\.summary|reasoning (summary|summaries)", re.IGNORECASE)
_ENCRYPTED = re.compile(r"encrypted[ _](content|reasoning)", re.IGNORECASE)
_THINKING = re.compile(r"\bthinking\.|`thinking\.|\bbudget_tokens\b|thinking is not supported")
_TOOL_SCHEMA = re.compile(r"input_schema|invalid_function_parameters|function parameters")
_SCHEMA = re.compile(r"output_config|output_format|response_format|json_schema", re.IGNORECASE)

_CASES = (
    _Case((401,), "rejected the API key", "set a valid {key_env} on the worker"),
    _Case((402,), "requires payment first", "check the account's plan and billing"),
    _Case((403,), "denied access", "check the permissions of the key in {key_env}, and the region"),
    _Case(
        (400, 413, 422),
        "found the prompt too long for {model!r}",
        "send less context, choose a model with a larger window, or set `compaction` in the "
        "persona for long conversations",
        _TOO_LONG,
        FailureType.CONTEXT_WINDOW_EXCEEDED,
    ),
    _Case(
        (400, 422),
        "does not accept this `temperature` or `top_p` with {model!r}",
        "remove them from the persona, or choose another model",
        _SAMPLING,
    ),
    _Case(
        (400, 404, 422),
        "does not accept these tools with {model!r} by this API",
        "set `api: responses` on the provider, or `effort: none` on the persona",
        _USE_RESPONSES,
    ),
    _Case(
        (400, 422),
        "has no encrypted reasoning of {model!r}",
        "set `reasoning: false` on the provider",
        _ENCRYPTED,
    ),
    _Case(
        (400, 422),
        "gives no summary of the reasoning of {model!r}",
        "remove `reasoning: summary` of the persona, or have your organization verified",
        _SUMMARY,
    ),
    _Case(
        (400, 422),
        "does not accept this `effort` with {model!r}",
        "choose another one on the persona, or remove it",
        _EFFORT,
    ),
    _Case(
        (400, 422),
        "does not accept this `thinking` with {model!r}",
        "change it on the persona, or remove it",
        _THINKING,
    ),
    _Case(
        (400, 422),
        "does not accept the input schema of a tool with {model!r}",
        "simplify the tool's schema",
        _TOOL_SCHEMA,
    ),
    _Case(
        (400, 422),
        "does not accept this output schema with {model!r}",
        "simplify the schema, or choose a model with structured output",
        _SCHEMA,
    ),
    _Case(
        (404,),
        "does not know the model {model!r}, or this address",
        "check the model's name, and api_base {address}",
    ),
    _Case((408, 504), "timed out", "ask for less, or try again later"),
    _Case((409,), "reported a conflict", "try again later"),
    _Case((413,), "rejected the request as too large", "send less context"),
    _Case(
        (429,),
        "reported that the rate limit is exceeded",
        "run fewer calls concurrently, allow more retries, or choose another model",
    ),
    _Case((503, 529), "is overloaded", "try again later, or choose another model"),
)


def from_status(
    endpoint: Endpoint,
    request: ModelRequest,
    status: int,
    headers: Mapping[str, str],
    body: object,
) -> ProviderFailure:
    """Build the failure for an error response.

    Args:
        endpoint: The server that answered.
        request: The request that it answered.
        status: The HTTP status; below 400 the body's own error type counts.
        headers: Response headers, names in any case.
        body: The decoded JSON, or the text if it is not JSON.
    """
    words, code = _error_of(body)
    if status < 400:
        status = _status_of(code)
    if code in _NO_MONEY:
        status = 402
    lower = {name.lower(): value for name, value in headers.items()}
    wait = retry_after(lower)
    retryable = _retryable(status, lower)
    detail = f"{status}: {endpoint.quote(words)}" if words else str(status)
    asks = f", asking to wait {wait:g} s" if retryable and wait else ""
    what, fix, kind = _explain(status, f"{words} {code}")
    names = {"model": request.model, "key_env": endpoint.key_env, "address": endpoint.address}
    return ProviderFailure(
        kind or _kind(status, retryable=retryable),
        f"{endpoint.provider} {what.format(**names)} ({detail}){asks}; {fix.format(**names)}",
        retryable=retryable and kind is None,
        retry_after=wait,
    )


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that the server asks to wait, or None if it does not.

    Args:
        headers: With lower-case names. `retry-after-ms` is finer than `retry-after`, which
            holds seconds or an HTTP date.
        now: The current time for dates; default: the clock.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    if (seconds := _number(text)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if isfinite(value) else None


def _retryable(status: int, headers: Mapping[str, str]) -> bool:
    match headers.get("x-should-retry"):
        case "true":
            return True
        case "false":
            return False
        case _:
            return status in (408, 409, 429) or status >= 500


def _kind(status: int, *, retryable: bool) -> str:
    if status == 429:
        return FailureType.RATE_LIMITED
    unavailable = retryable or status >= 500
    return FailureType.PROVIDER_UNAVAILABLE if unavailable else FailureType.PROVIDER_REFUSED


def _explain(status: int, message: str) -> tuple[str, str, str | None]:
    """Return what happened, the fix, and the type of failure if the status does not decide it."""
    for case in _CASES:
        if case.fits(status, message):
            return case.what, case.fix, case.kind
    if status >= 500:
        return "had an internal error", "try again later, or choose another model", None
    return "refused the request", "correct what its message names", None


def _error_of(body: object) -> tuple[str, str]:
    """Return the message and the code of an error, in any of the shapes that servers use."""
    if isinstance(body, str):
        return body, ""
    if isinstance(body, list) and body:  # how Gemini's compatible endpoint wraps its errors
        return _error_of(cast("list[object]", body)[0])
    if not isinstance(body, dict):
        return "", ""
    error = cast("dict[str, object]", body)
    inner = error.get("error", error)
    if isinstance(inner, str):
        return inner, ""
    if isinstance(inner, dict):
        error = cast("dict[str, object]", inner)
    words = error.get("message") or error.get("detail") or ""
    code = error.get("code") or error.get("type") or ""
    return str(words), str(code)


def _status_of(code: str) -> int:
    if code.isdecimal() and 400 <= int(code) <= 599:
        return int(code)
    status = _STATUS_OF_TYPE.get(code)
    return status or (400 if _FINAL.match(code) else 500)
