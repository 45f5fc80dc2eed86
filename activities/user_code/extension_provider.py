"""A model provider of a package, which runs in child processes of the worker."""

from coterie.activities.contracts import FailureType
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.request_json import (
    completion_from_json,
    request_to_json,
    settings_to_json,
)
from coterie.activities.providers.translation.prepared_requests import for_model
from coterie.activities.user_code.child_messages import (
    NotImported,
    NotJsonAnswer,
    Raised,
    UserCodeFailed,
    UserCodeTimeout,
)
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.user_code.extension_messages import (
    EXTENSION_NOTE,
    Completed,
    ExtensionOutcome,
    ExtensionRequest,
    NoSuchObject,
    ProviderRaised,
    TextNote,
    TurnEnded,
    TurnFailed,
)
from coterie.dsl.errors import nearest
from coterie.dsl.values import Json


class ExtensionProvider:
    """Hands each request to a process of its package."""

    def __init__(self, path: str, settings: ProviderSettings, user_code: UserCode) -> None:
        """Take what to call.

        Args:
            path: `package.module:name` of a class that takes its ProviderSettings.
            settings: With the key, which only this provider's processes get.
            user_code: Runs the processes.
        """
        self._path = path
        self._name = settings.name
        self._own = settings
        self._settings: Json = settings_to_json(settings)
        self._user_code = user_code

    async def complete(self, request: ModelRequest) -> Completion:
        """Call the model once.

        Raises:
            ProviderFailure: No answer; says whether and when to retry.
        """
        call = ExtensionRequest(
            provider=self._path,
            settings=self._settings,
            request=request_to_json(for_model(request, self._own)),
            streams=request.on_text is not None,
        )

        async def take(note: bytes) -> None:
            match EXTENSION_NOTE.validate_json(note):
                case TextNote(text=text) if request.on_text is not None:
                    request.on_text(text)
                case _:
                    raise self._refusal("asked for something that only an agent may ask for")

        try:
            outcome = await self._user_code.extend(call, self._path, request.timeout, take)
        except UserCodeTimeout as late:
            raise self._refusal(str(late), retry=True) from None
        except UserCodeFailed as failure:
            raise self._refusal(str(failure), retry=True) from None
        return self._completion(outcome)

    async def close(self) -> None:
        """Do nothing: the processes end with their pool."""

    def _completion(self, outcome: ExtensionOutcome) -> Completion:
        match outcome:
            case Completed(completion=completion):
                try:
                    return completion_from_json(completion)
                except ValueError as error:
                    raise self._refusal(
                        f"returned something that is no Completion: {error}"
                    ) from None
            case ProviderRaised(reason=reason, retry=retry, retry_after=after):
                raise self._refusal(reason, retry=retry, retry_after=after)
            case Raised(reason=reason):
                raise self._refusal(f"raised {reason}")
            case NotImported(reason=reason):
                raise self._refusal(f"cannot be imported: {reason}")
            case NoSuchObject(names=names):
                hint = nearest(self._path.partition(":")[2], names)
                raise self._refusal("does not exist" + (f"; {hint}" if hint else ""))
            case NotJsonAnswer(reason=reason):
                raise self._refusal(f"returned what is not JSON: {reason}")
            case TurnEnded() | TurnFailed():
                raise self._refusal("answered a question that was not asked")

    def _refusal(
        self, why: str, *, retry: bool = False, retry_after: float | None = None
    ) -> ProviderFailure:
        return ProviderFailure(
            FailureType.PROVIDER_UNAVAILABLE if retry else FailureType.PROVIDER_REFUSED,
            f"provider {self._name!r} ({self._path}): {why}",
            retryable=retry,
            retry_after=retry_after,
        )
