"""The values and failures in the events of histories, decoded when somebody asks for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure

from coterie.dsl.visible import shortened_text
from coterie.storage.wire import data_converter

Model = TypeVar("Model", bound=BaseModel)
_MAX_ERROR_LENGTH = 500


@dataclass(frozen=True, slots=True)
class RecordedValue:
    """An input or a result, decoded on demand."""

    payloads: Sequence[Payload] = ()

    def read(self, model: type[Model]) -> Model:
        """Decode the first value; raises ValueError, RuntimeError or IndexError."""
        return data_converter.payload_converter.from_payload(self.payloads[0], model)

    def read_if(self, model: type[Model]) -> Model | None:
        """Decode the first value; None if there is none, or it has another form."""
        try:
            value = self.read(model)
        except (ValidationError, ValueError, RuntimeError, IndexError):
            return None
        return value if isinstance(value, model) else None

    @property
    def json(self) -> JsonValue:
        """The single value that our calls and results have; a list if there are several."""
        payloads = [payload for payload in self.payloads if payload.metadata]
        values: list[JsonValue] = data_converter.payload_converter.from_payloads(payloads)
        return values[0] if len(values) == 1 else values or None


NO_VALUE = RecordedValue()


@dataclass(frozen=True, slots=True)
class RecordedFailure:
    """A failure of a call, an update or the run."""

    type: str
    """Empty if Temporal itself reports it."""
    message: str
    details: RecordedValue = NO_VALUE
    cause: "RecordedFailure | None" = None

    @classmethod
    def of(cls, failure: Failure) -> "RecordedFailure":
        """Decode a failure with its causes."""
        info = failure.application_failure_info
        cause = cls.of(failure.cause) if failure.HasField("cause") else None
        return cls(info.type, failure.message, RecordedValue(info.details.payloads), cause)

    @property
    def text(self) -> str:
        """The failure with its causes, on one line."""
        text = f"{self.type}: {self.message}" if self.type else self.message
        if self.cause is not None:
            text += f" ({self.cause.text})"
        return shortened_text(text, _MAX_ERROR_LENGTH)
