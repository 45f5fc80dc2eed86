"""A webhook: a signed request of another system that starts a run, or signals one."""

from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from coterie.dsl.model.sections.mcp_document import HeaderName
from coterie.dsl.model.sections.variable_names import VariableName
from coterie.dsl.values import Frozen, Json, Timeout, form_mismatch

WebhookScheme = Literal["standard-webhooks", "github", "stripe", "hmac"]
"""How a sender signs what it sends."""

TIMED_SCHEMES: frozenset[WebhookScheme] = frozenset({"standard-webhooks", "stripe"})
"""The schemes whose signatures cover a time."""

DEFAULT_TOLERANCE = 300.0
MAX_TOLERANCE = 7 * 86_400.0

EVENT_FACTS = ("id", "type", "time")
"""The fields of `event`, as templates read it."""
WEBHOOK_NAMES = ("payload", "event", "headers")
"""The names that the templates of a webhook read."""


class HmacTerms(Frozen):
    """Where a sender without a scheme of its own writes the HMAC of the body, and how."""

    header: HeaderName
    """The header with the signature."""
    algorithm: Literal["sha256", "sha512"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    prefix: str = Field(default="", max_length=40)
    """What stands before the signature in the header, such as `sha256=`."""


class WebhookSignal(Frozen):
    """The signal that a delivery sends to one run of this team."""

    run: str = Field(min_length=1, max_length=1_000)
    """The id of the run, or a template for it; no other run is searched."""
    name: str = Field(min_length=1, max_length=200)
    """The name of the signal, for which a step waits."""
    payload: JsonValue = "{{ payload }}"
    """What the step gets, or a template for it. Default: the whole payload."""
    start: bool = False
    """Whether to start the run, with `context`, if no run has this id."""


class WebhookSection(Frozen):
    """Who sends, how it is verified, and what a delivery does."""

    verify: WebhookScheme
    """How the sender signs: `standard-webhooks`, `github`, `stripe`, or `hmac`."""
    secret_env: VariableName
    """The NAME of the environment variable of the gateway with the secret."""
    old_secrets_env: tuple[VariableName, ...] = Field(default=(), max_length=10)
    """The NAMES of variables with secrets that still count, while the sender changes over."""
    hmac: HmacTerms | None = None
    """With `verify: hmac`: where the signature stands."""
    tolerance: Timeout | None = Field(default=None, le=MAX_TOLERANCE)
    """How far the signed time of a delivery may be from the gateway's. Default: 5m."""
    when: str | None = Field(default=None, max_length=10_000)
    """An expression: a delivery for which it is false does nothing."""
    event_id: str | None = Field(default=None, max_length=1_000)
    """A template for what names the event; the same event starts one run. Default: the id that
    the sender gives; with `hmac`, the SHA-256 of the body."""
    context: Json = Field(default_factory=dict[str, JsonValue])
    """The context with which the run starts: values, or templates for them."""
    signal: WebhookSignal | None = None
    """Signals a run instead of starting one."""

    @model_validator(mode="after")
    def _keys_of_scheme(self) -> Self:
        if (self.verify == "hmac") != (self.hmac is not None):
            raise form_mismatch("trigger", "`hmac` stands beside `verify: hmac`, and only there")
        if self.tolerance is not None and self.verify not in TIMED_SCHEMES:
            raise form_mismatch(
                "trigger", "`tolerance` needs a scheme with a time: standard-webhooks or stripe"
            )
        return self

    @model_validator(mode="after")
    def _keys_of_start(self) -> Self:
        starts = self.signal is None or self.signal.start
        if self.context and not starts:
            raise form_mismatch(
                "trigger", "`context` is for a run that starts: a `signal` needs `start: true`"
            )
        return self

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the variables with its secrets, the current one first."""
        return (self.secret_env, *self.old_secrets_env)

    @property
    def longest_age(self) -> float | None:
        """The greatest distance in seconds between a signed time and now; None without a time."""
        if self.verify not in TIMED_SCHEMES:
            return None
        return DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance
