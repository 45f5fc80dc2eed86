"""Take calls of OpenAI's APIs as batches: a file of one line in, a file of one line out."""

import json
from abc import ABC, abstractmethod
from datetime import datetime
from typing import ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, Field, JsonValue

from coterie.activities.contracts import FailureType, StartedBatch
from coterie.activities.providers.batches.batch_provider import ended_without_answer
from coterie.activities.providers.http_statuses import from_status
from coterie.activities.providers.openai_client import OPENAI_ERRORS, OpenAIAccess
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure, malformed
from coterie.activities.providers.translation.prepared_requests import prepared
from coterie.dsl.values import Json

_CUSTOM_ID = "custom_id"
_MAX_BATCHES = 1_000
"""Looked through for a batch of the same call; as many since then are not to be expected."""
_ENDED = ("completed", "expired", "failed", "cancelled")


class _Problem(BaseModel):
    message: str | None = None


class _Problems(BaseModel):
    data: list[_Problem] | None = None


class _Batch(BaseModel):
    id: str = Field(max_length=200, pattern=r"^[A-Za-z0-9_.:-]+$")
    status: str = ""
    created_at: int = 0
    metadata: dict[str, str] | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Problems | None = None


class _Response(BaseModel):
    status_code: int = 0
    body: JsonValue = None


class _LineError(BaseModel):
    code: str | None = None
    message: str | None = None


class _Line(BaseModel):
    custom_id: str | None = None
    response: _Response | None = None
    error: _LineError | None = None


Answer = TypeVar("Answer", bound=BaseModel)


class OpenAIBatchProvider(ABC, Generic[Answer]):
    """What both of OpenAI's APIs share: a client, and calls as batches; see `BatchProvider`."""

    url: ClassVar[Literal["/v1/responses", "/v1/chat/completions"]]
    """Where a line of a batch goes."""
    answer_type: type[Answer]

    def __init__(self, settings: ProviderSettings) -> None:
        self._access = OpenAIAccess(settings)

    @abstractmethod
    def _parameters(self, request: ModelRequest) -> Json:
        """Return the body of a prepared call."""

    @abstractmethod
    def _completion(self, request: ModelRequest, answer: Answer) -> Completion:
        """Return a complete answer, or raise the failure that it describes."""

    async def submit(self, request: ModelRequest, custom_id: str, since: datetime) -> str:
        """Submit the call as a batch, unless its batch is there already; return the batch's id.

        Raises:
            ProviderFailure: It was not taken.
        """
        request = prepared(request, self._access.settings)
        body = self._parameters(request)
        try:
            batch_id = await self._submitted_batch(custom_id, since)
            return batch_id or await self._submit_line(body, custom_id)
        except OPENAI_ERRORS as error:
            raise self._access.failure(request, error) from None

    async def collect(self, request: ModelRequest, batch: StartedBatch) -> Completion | None:
        """Return the answer of a batch; None while there is none.

        Raises:
            ProviderFailure: There will be no answer, or the server did not say.
        """
        body = await self._answer(request, batch)
        if body is None:
            return None
        try:
            answer = self.answer_type.model_validate(body)
        except ValueError as error:
            raise self._access.failure(request, error) from None
        return self._completion(request, answer)

    async def close(self) -> None:
        """Close the connections."""
        await self._access.client.close()

    async def _submitted_batch(self, custom_id: str, since: datetime) -> str | None:
        """Return the batch of the call, if an earlier attempt has submitted it."""
        count = 0
        async for listed in self._access.client.batches.list(limit=100):
            batch = _read(listed)
            count += 1
            if batch.created_at < since.timestamp() or count > _MAX_BATCHES:
                return None
            if (batch.metadata or {}).get(_CUSTOM_ID) == custom_id:
                return batch.id
        return None

    async def _submit_line(self, body: Json, custom_id: str) -> str:
        line: Json = {"custom_id": custom_id, "method": "POST", "url": self.url, "body": body}
        text = json.dumps(line, ensure_ascii=False) + "\n"
        client = self._access.client
        file = await client.files.create(
            file=(f"{custom_id}.jsonl", text.encode()), purpose="batch"
        )
        created = await client.batches.create(
            input_file_id=file.id,
            endpoint=self.url,
            completion_window="24h",
            metadata={_CUSTOM_ID: custom_id},
        )
        return _read(created).id

    async def _answer(self, request: ModelRequest, started: StartedBatch) -> JsonValue:
        """Return the body of the answer; None while there is none."""
        try:
            batch = _read(await self._access.client.batches.retrieve(started.id))
            if batch.status not in _ENDED:
                return None
            line = await self._line(batch, started.custom_id)
        except OPENAI_ERRORS as error:
            raise self._access.failure(request, error) from None
        if line is None or line.response is None:
            raise self._no_answer_failure(batch, line, started)
        if line.response.status_code != 200:
            failed = from_status(
                self._access.endpoint, request, line.response.status_code, {}, line.response.body
            )
            failed.retryable = False  # the batch has ended
            raise failed
        return line.response.body

    async def _line(self, batch: _Batch, custom_id: str) -> _Line | None:
        """Return what became of the call."""
        for file in (batch.output_file_id, batch.error_file_id):
            if file is None:
                continue
            content = await self._access.client.files.content(file)
            for text in content.content.splitlines():  # of bytes: texts may hold other line ends
                line = _Line.model_validate_json(text)
                if line.custom_id == custom_id:
                    return line
        return None

    def _no_answer_failure(
        self, batch: _Batch, line: _Line | None, started: StartedBatch
    ) -> ProviderFailure:
        endpoint = self._access.endpoint
        if batch.status == "failed":
            messages = [
                problem.message or "" for problem in (batch.errors or _Problems()).data or ()
            ]
            return ProviderFailure(
                FailureType.PROVIDER_REFUSED,
                f"{endpoint.provider} refused the batch {started.id}: "
                f"{endpoint.quote('; '.join(messages) or 'without a reason')}",
                retryable=False,
            )
        if batch.status in ("expired", "cancelled"):
            how = "expired" if batch.status == "expired" else "been cancelled"
            return ended_without_answer(endpoint.provider, started, how)
        if line is not None and line.error is not None:
            reason = line.error.message or line.error.code or "without a reason"
            return ended_without_answer(
                endpoint.provider, started, f"failed ({endpoint.quote(reason)})"
            )
        failure = malformed(endpoint, f"the batch {started.id} has no line for its call")
        failure.retryable = False
        return failure

    async def cancel(self, batch: StartedBatch) -> None:
        """Cancel a batch.

        Raises:
            ProviderFailure: The server did not take the request.
        """
        try:
            await self._access.client.batches.cancel(batch.id)
        except OPENAI_ERRORS as error:
            raise self._access.failure(ModelRequest("", ()), error) from None


def _read(batch: object) -> _Batch:
    """Validate what the client received, which the client itself does not."""
    if not isinstance(batch, BaseModel):
        raise ValueError("a batch is not an object")
    return _Batch.model_validate(batch.model_dump(mode="json", exclude_unset=True, warnings=False))
