"""Encode values between clients, workers and Temporal: JSON without defaults.

Omitted defaults keep histories small. Field names are the aliases that YAML uses (`while`, `and`),
so that the `temporal` CLI shows and accepts what people write.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel
from pydantic_core import SchemaSerializer
from pydantic_core.core_schema import any_schema
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DefaultPayloadConverter,
    EncodingPayloadConverter,
    JSONPlainPayloadConverter,
)
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CompileResult,
    FunctionRequest,
    FunctionResult,
)
from coterie.storage.stored_references import CheckedConverter, InvalidReferenceConverter
from coterie.workflows.core.messages import TeamInput

THRESHOLD = 32 * 1024
"""Size in bytes from which a payload is stored outside histories, if there is a storage."""

MAY_BE_KEPT_OUTSIDE = "coterie-large"
"""Marks a large payload that only our programs read."""

_PROGRAMS_ONLY = frozenset(
    {AgentRequest, AgentResponse, CompileResult, FunctionRequest, FunctionResult, TeamInput}
)
"""People may read all other values with the plain `temporal` CLI, which has no storage."""

_SERIALIZER = SchemaSerializer(any_schema())


_LARGE = THRESHOLD - 100  # the mark and the encoding's name are part of the payload too


class LeanJsonConverter(PydanticJSONPlainPayloadConverter):
    """Encodes Pydantic models as JSON, without fields that have their default value."""

    def to_payload(self, value: object) -> Payload:
        """Encode any value as UTF-8 JSON; this is the last converter."""
        data = _SERIALIZER.to_json(value, exclude_defaults=True, by_alias=True)
        payload = Payload(metadata={"encoding": self.encoding.encode()}, data=data)
        if len(data) >= _LARGE and type(value) in _PROGRAMS_ONLY:
            payload.metadata[MAY_BE_KEPT_OUTSIDE] = b"1"
        return payload


_JSON = LeanJsonConverter()
_INVALID = InvalidReferenceConverter()
_CONVERTERS: Final[Mapping[bytes, EncodingPayloadConverter]] = {
    converter.encoding.encode(): _JSON
    if isinstance(converter, JSONPlainPayloadConverter)
    else converter
    for converter in (*DefaultPayloadConverter.default_encoding_payload_converters, _INVALID)
}


class LeanPayloadConverter(CompositePayloadConverter):
    """Temporal's own converters, with JSON replaced by ours."""

    def __init__(self) -> None:
        super().__init__()
        self.converters = _CONVERTERS  # the SDK creates this object twice for each workflow task

    def to_payloads(self, values: Sequence[object]) -> list[Payload]:
        """Encode values; a model alone, which most are, without asking the other converters."""
        match values:
            case [BaseModel() as model]:
                return [_JSON.to_payload(model)]
            case _:
                return super().to_payloads(values)


data_converter = CheckedConverter(payload_converter_class=LeanPayloadConverter)
"""Without a storage; `coterie.storage.large_values` builds that of a client or worker."""


def text_of(payload: Payload) -> str:
    """Decode a summary or a memo; empty if it is anything but a text.

    Whoever starts a run writes them, so decoding must not fail. They are never stored outside.
    """
    try:
        value: object = data_converter.payload_converter.from_payload(payload)
    except (ApplicationError, ValueError, RuntimeError, KeyError):
        return ""
    return value if isinstance(value, str) else ""
