"""The stub model of a test: answers from the test file, on the run's own clock.

The seconds of an answer pass on the run's clock: an attempt that starts too early fails at once and
requests a retry when the time has come, to which the server's clock then skips. (A skip makes the
server retry all such attempts, so one call may need several.)
"""

from collections.abc import Sequence
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from coterie.activities.attempts import own_seconds
from coterie.activities.contracts import FailureType
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripts.script import ScriptedAnswer
from coterie.activities.providers.scripts.scripted_answers import ScriptedAnswers
from coterie.activities.providers.scripts.scripted_choice import choose, missing
from coterie.dsl.model.plan import Persona, Plan

_THINKING = "Thinking"
"""Failure type that only means: time passes."""

_AT_ONCE = timedelta(milliseconds=1)
_ATTEMPTS = 100
"""Maximum additional attempts that a plan can give a call."""


class StubModel:
    """Stands in for all providers of a test's worker; the chosen model only affects the cost."""

    def __init__(self, scripts: Sequence[Sequence[ScriptedAnswer]]) -> None:
        self.scripts = scripts
        """In order of precedence."""
        self.unanswered: dict[str, str] = {}
        """`{label: entry to add}` for calls without a matching entry."""

    def get(self, name: str) -> "StubProvider":
        """Return the provider of any name."""
        return StubProvider(name, self)


class StubProvider(ScriptedAnswers):
    """One provider of a test's worker."""

    def __init__(self, name: str, model: StubModel) -> None:
        self._name = name
        self._model = model

    async def _take_time(self, seconds: float, request: ModelRequest) -> None:
        """Return when the answer's time has come.

        Raises:
            ApplicationError: It has not come yet, or exceeds the call's timeout.
        """
        info, allowed = activity.info(), own_seconds()
        limit = request.timeout if allowed is None else allowed
        due = info.scheduled_time + timedelta(seconds=min(seconds, limit))
        remaining = due - info.started_time
        if remaining > _AT_ONCE:
            raise ApplicationError(
                f"{request.label} takes {seconds:g} s", type=_THINKING, next_retry_delay=remaining
            )
        if seconds >= limit:
            raise ApplicationError(
                f"{request.label} did not answer within {limit:g} s",
                type="Timeout",
                non_retryable=True,
            )

    def _entry(self, request: ModelRequest) -> ScriptedAnswer:
        entry = None
        for script in self._model.scripts:
            entry = _stronger(entry, choose(script, request))
        if entry is None:
            self._model.unanswered[request.label] = missing(request)
            raise ProviderFailure(
                FailureType.PROVIDER_REFUSED,
                f"the test has no answer for {request.label!r}: {missing(request)}",
                retryable=False,
            )
        return entry


def _stronger(first: ScriptedAnswer | None, then: ScriptedAnswer | None) -> ScriptedAnswer | None:
    """Prefer the first script, unless the other has an entry from a later turn or visit on."""
    if first is None or then is None:
        return first or then
    later = _is_later(first.turn, then.turn) or _is_later(first.visit, then.visit)
    return then if later else first


def _is_later(first: int | None, then: int | None) -> bool:
    return first is not None and then is not None and then > first


def with_time_to_think(plan: Plan) -> Plan:
    """Add attempts to each model call of the plan, for those that only let time pass."""

    def patient(persona: Persona) -> Persona:
        return persona.model_copy(update={"retries": _ATTEMPTS})

    personas = {key: patient(persona) for key, persona in plan.personas.items()}
    return plan.model_copy(update={"personas": personas}).with_digest()
