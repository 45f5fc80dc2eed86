"""No secret that a worker knows leaves it: by a failure, a heartbeat, an answer or a log line."""

import base64
import logging
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.failure.v1 import Failure as SentFailure
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    ExecuteActivityInput,
)

from coterie import logs
from coterie.activities.contracts import AgentError, AgentResponse
from coterie.activities.failure_redaction import SecretsInterceptor
from coterie.dsl.known_secrets import KnownSecrets, secrets_of

KEY = "hunter2-Xk29vQzL-7sWm4TtE"
KNOWN = KnownSecrets([KEY])
LEAKS = (
    KEY,
    KEY[3:],
    KEY[:14],
    f'{{"auth": "{KEY}"}}',
    base64.b64encode(KEY.encode()).decode(),
    base64.b64encode(f"user:{KEY}".encode()).decode(),
    base64.urlsafe_b64encode(f"??{KEY}??".encode()).decode(),
)


def tells(text: str) -> bool:
    """Whether twelve characters in a row of the key, or of its base64, stand in a text."""
    forms = [KEY] + [base64.b64encode(b"\0" * n + KEY.encode()).decode()[4:-4] for n in range(3)]
    return any(form[at : at + 12] in text for form in forms for at in range(len(form) - 11))


@pytest.mark.parametrize("leak", LEAKS)
def test_a_known_value_its_parts_and_its_base64_are_hidden(leak: str) -> None:
    assert tells(leak)
    clean = KNOWN.without(f"refused ({leak}); ask")
    assert not tells(clean)
    assert "***" in clean
    assert clean.startswith("refused (")
    assert clean.endswith("); ask")


@given(st.text(max_size=200))
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert KnownSecrets([KEY, "", "short"]).without(text) == KnownSecrets().without(text)


def test_an_address_is_reported_and_its_path_is_not() -> None:
    known = KnownSecrets(["https://hooks.example.org/services/T0001/B0001-secret-part"])
    shown = known.without("POST https://hooks.example.org/services/T0001/B0001-secret-part: 404")
    assert shown == "POST https://hooks.example.org/***: 404"


def test_variables_with_names_of_secrets_hold_secrets() -> None:
    environment = {"GITHUB_TOKEN": "a", "MY_API_KEY": "b", "HOME": "c", "MAX_TOKENS": "d"}
    assert secrets_of(environment) == ("a", "b")


def test_a_log_line_and_its_traceback_tell_no_secret() -> None:
    try:
        raise ValueError(f"bad key {KEY}")
    except ValueError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, "f", 1, "call with %s", (KEY,), (ValueError, error, None)
        )
    logs.hide(KNOWN)
    try:
        text = logs.VisibleFormatter("%(message)s").format(record)
    finally:
        logs.hide(KnownSecrets())
    assert not tells(text)
    assert "ValueError: bad key ***" in text


class Outbound(ActivityOutboundInterceptor):
    """The end of the chain: keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[object] = []

    def heartbeat(self, *details: object) -> None:
        self.sent += details


class Inbound(ActivityInboundInterceptor):
    """The end of the chain: an activity that tells its key, in one way or another."""

    def __init__(self) -> None:
        self.outbound: ActivityOutboundInterceptor | None = None

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        self.outbound = outbound

    async def execute_activity(self, input: ExecuteActivityInput) -> object:
        match input.args[0]:
            case Exception() as error:
                raise error
            case int() | AgentResponse() as result:
                return result
            case str() as result if result == KEY:
                return result
            case "plain":
                raise ValueError(f"bad {KEY}")
            case "cause":
                raise ApplicationError("refused", type="Refused") from ValueError(KEY)
            case "failure":
                raise ApplicationError(
                    f"no {KEY}",
                    {"tried": [KEY]},
                    type="Refused",
                    non_retryable=True,
                    next_retry_delay=timedelta(seconds=3),
                )
            case "heartbeat":
                assert self.outbound is not None
                self.outbound.heartbeat({"partial": f"say {KEY}"}, 3)
                return None
            case _:
                error = AgentError(type="Raised", message=f"its own words: {KEY}")
                return AgentResponse(success=False, error=error)


async def attempt(how: object, outbound: Outbound | None = None) -> object:
    """One attempt of the activity behind the interceptor of every worker."""
    chain = SecretsInterceptor(KNOWN).intercept_activity(Inbound())
    chain.init(outbound or Outbound())
    return await chain.execute_activity(ExecuteActivityInput(attempt, (how,), None, {}))


@pytest.mark.parametrize("how", ["plain", "cause", "failure"])
async def test_a_failure_tells_no_secret(how: str) -> None:
    with pytest.raises(ApplicationError) as failure:
        await attempt(how)
    sent = DataConverter.default
    shown = SentFailure()
    await sent.encode_failure(failure.value, shown)
    assert not tells(str(shown))
    assert "***" in str(shown) or how == "cause"
    if how == "failure":
        assert failure.value.non_retryable
        assert failure.value.type == "Refused"
        assert failure.value.next_retry_delay == timedelta(seconds=3)


async def test_a_heartbeat_and_an_agents_own_failure_tell_no_secret() -> None:
    outbound = Outbound()
    await attempt("heartbeat", outbound)
    assert outbound.sent == [{"partial": "say ***"}, 3]
    answer = await attempt("answer")
    assert isinstance(answer, AgentResponse)
    assert answer.error == AgentError(type="Raised", message="its own words: ***")


def chained(error: Exception, *causes: Exception) -> Exception:
    """The error with its causes, the last of which was caused by the first again."""
    for one, cause in zip((error, *causes), (*causes, causes[0]), strict=True):
        one.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("nothing"),
        chained(ValueError("nothing"), KeyError("more")),
        ApplicationError("nothing", {"tried": ["no key"]}, 7, type="Refused"),
        chained(ApplicationError("nothing", type="Refused"), KeyError("more"), OSError("less")),
    ],
)
async def test_a_failure_without_secrets_leaves_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        await attempt(error)
    assert raised.value is error


@pytest.mark.parametrize(
    ("error", "message", "type", "details"),
    [
        (ValueError(f"bad {KEY}"), "bad ***", "ValueError", ()),
        (chained(ValueError("bad"), KeyError(KEY)), "bad", "ValueError", ()),
        (
            chained(ApplicationError("bad", 1, type="T"), KeyError("ok"), KeyError(KEY)),
            "bad",
            "T",
            (1,),
        ),
        (ApplicationError("bad", [KEY], 1, type="T"), "bad", "T", (["***"], 1)),
        (ApplicationError("bad", f"say {KEY}", type="T"), "bad", "T", ("say ***",)),
        (ApplicationError(f"no {KEY}", None, type="T"), "no ***", "T", (None,)),
    ],
)
async def test_a_failure_with_a_secret_anywhere_leaves_without_it_and_without_its_causes(
    error: Exception, message: str, type: str, details: tuple[object, ...]
) -> None:
    with pytest.raises(ApplicationError) as raised:
        await attempt(error)
    clean = raised.value
    assert (clean.message, clean.type, tuple(clean.details)) == (message, type, details)
    assert clean is not error
    assert clean.__cause__ is None


async def test_a_clean_failure_keeps_how_it_is_retried_and_counted() -> None:
    error = ApplicationError(
        KEY,
        type="T",
        non_retryable=True,
        next_retry_delay=timedelta(seconds=3),
        category=ApplicationErrorCategory.BENIGN,
    )
    with pytest.raises(ApplicationError) as raised:
        await attempt(error)
    clean = raised.value
    assert (clean.non_retryable, clean.next_retry_delay, clean.category) == (
        True,
        timedelta(seconds=3),
        ApplicationErrorCategory.BENIGN,
    )


@pytest.mark.parametrize("result", [3, KEY, AgentResponse(success=True, data={"key": KEY})])
async def test_a_result_without_a_failure_leaves_as_it_is(result: object) -> None:
    assert await attempt(result) is result
