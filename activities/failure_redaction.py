"""Remove secrets from what leaves an activity: failures, results and heartbeats."""

from typing import Any, cast

from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
)

from coterie.activities.contracts import AgentResponse
from coterie.dsl.known_secrets import KnownSecrets


class SecretsInterceptor(Interceptor):
    """Applies one redaction to every activity of a worker."""

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Wrap the activity."""
        return _Inbound(next, self._known)


class _Inbound(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, known_secrets: KnownSecrets) -> None:
        super().__init__(next)
        self._known = known_secrets

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        super().init(_Outbound(outbound, self._known))

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        try:
            return _clean_result(await super().execute_activity(input), self._known)
        except Exception as error:
            clean = _clean(error, self._known)
            if clean is error:
                raise
            raise clean from None


class _Outbound(ActivityOutboundInterceptor):
    def __init__(self, next: ActivityOutboundInterceptor, known_secrets: KnownSecrets) -> None:
        super().__init__(next)
        self._known = known_secrets

    def heartbeat(self, *details: Any) -> None:
        super().heartbeat(*(_clean_detail(detail, self._known) for detail in details))


def _clean(error: Exception, known_secrets: KnownSecrets) -> Exception:
    """Return the failure without secrets; the same object when it and its causes have none."""
    words = str(error)
    if not isinstance(error, ApplicationError):
        chain = _chain(error)
        if all(known_secrets.without(str(cause)) == str(cause) for cause in chain):
            return error
        return ApplicationError(known_secrets.without(words), type=type(error).__name__)
    message = known_secrets.without(error.message)
    details = [_clean_detail(detail, known_secrets) for detail in error.details]
    causes = _chain(error)[1:]
    same = message == error.message and details == list(error.details)
    if same and all(known_secrets.without(str(cause)) == str(cause) for cause in causes):
        return error
    return ApplicationError(
        message,
        *details,
        type=error.type,
        non_retryable=error.non_retryable,
        next_retry_delay=error.next_retry_delay,
        category=error.category,
    )


def _clean_result(result: object, known_secrets: KnownSecrets) -> object:
    """Remove secrets from what an agent's result reports to people: its failure, its thinking."""
    if not isinstance(result, AgentResponse):
        return result
    if result.error is not None:
        message = known_secrets.without(result.error.message)
        error = result.error.model_copy(update={"message": message})
        result = result.model_copy(update={"error": error})
    if result.reasoning is not None:
        text = known_secrets.without(result.reasoning.text)
        reasoning = result.reasoning.model_copy(update={"text": text})
        result = result.model_copy(update={"reasoning": reasoning})
    return result


def _chain(error: BaseException) -> list[BaseException]:
    """List the failure and its causes, in the order in which Temporal reports them."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        chain.append(cause)
    return chain


def _clean_detail(detail: object, known_secrets: KnownSecrets) -> object:
    if isinstance(detail, str | list | dict):
        return known_secrets.without_in(cast("Any", detail))
    return detail
