"""The model of a test: answers of the file's own, on the run's own clock.

The seconds of an answer pass on the clock of the run: an attempt of the call before its time ends
at once and asks to be made again when the time has come, which the server's clock is put to.
(When a clock is put on, the server makes every such attempt anew, so one call may need several.)
"""

from collections.abc import Sequence
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.contracts import FailureType
from activities.providers.provider import Completion, ModelRequest
from activities.providers.provider_failures import ProviderFailure
from activities.providers.script import ScriptedAnswer
from activities.providers.scripted import choose, missing, played
from dsl.model.plan import Persona, Plan

_THINKING = "Thinking"
"""The type of the failure that is none: time passes."""

_AT_ONCE = timedelta(milliseconds=1)
_ATTEMPTS = 100
"""The most that a plan can give a call, after its first."""


class StubModel:
    """Every provider of a test's worker; which model is asked makes a difference to cost alone."""

    def __init__(self, scripts: Sequence[Sequence[ScriptedAnswer]]) -> None:
        self.scripts = scripts
        """The stronger ones first."""
        self.unanswered: dict[str, str] = {}
        """`{label: what to add}` of the calls that no entry fits."""

    def get(self, name: str) -> "StubProvider":
        """The provider of any name."""
        return StubProvider(name, self)


class StubProvider:
    """One provider of a test's worker."""

    def __init__(self, name: str, model: StubModel) -> None:
        self._name = name
        self._model = model

    async def complete(self, request: ModelRequest) -> Completion:
        """The entry of the first script that has one for this call, or of one for a later visit.

        Raises:
            ProviderFailure: no entry fits, or the entry is an error.
            ApplicationError: the answer takes its time.
        """
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
        _take_time(entry.seconds, request)
        return played(entry, request)

    async def close(self) -> None:
        """Nothing is held open."""


def _stronger(first: ScriptedAnswer | None, then: ScriptedAnswer | None) -> ScriptedAnswer | None:
    """The entry of the stronger script, until the other one has an entry from a later visit on."""
    if first is None or then is None:
        return first or then
    later = first.visit is not None and then.visit is not None and then.visit > first.visit
    return then if later else first


def with_time_to_think(plan: Plan) -> Plan:
    """The plan with attempts for each model call in which nothing but time passes."""

    def patient(persona: Persona) -> Persona:
        return persona.model_copy(update={"retries": _ATTEMPTS})

    personas = {key: patient(persona) for key, persona in plan.personas.items()}
    return plan.model_copy(update={"personas": personas}).sealed()


def _take_time(seconds: float, request: ModelRequest) -> None:
    """Return when the answer's time has come.

    Raises:
        ApplicationError: it has not yet, or it comes too late for the call.
    """
    info = activity.info()
    allowed = info.start_to_close_timeout
    limit = request.timeout if allowed is None else allowed.total_seconds()
    due = info.scheduled_time + timedelta(seconds=min(seconds, limit))
    left = due - info.started_time
    if left > _AT_ONCE:
        raise ApplicationError(
            f"{request.label} takes {seconds:g} s", type=_THINKING, next_retry_delay=left
        )
    if seconds >= limit:
        raise ApplicationError(
            f"{request.label} did not answer within {limit:g} s", type="Timeout", non_retryable=True
        )
