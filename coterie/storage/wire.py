"""How values travel between clients, workers and Temporal: JSON without what is default.

Leaving defaults out keeps histories small; names on the wire are the aliases that YAML uses
(`while`, `and`), so that the `temporal` CLI shows and takes what people write.
"""

from pydantic_core import SchemaSerializer
from pydantic_core.core_schema import any_schema
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)

from activities.contracts import (
    AgentRequest,
    AgentResponse,
    CompileResult,
    SkillRequest,
    SkillResult,
)
from coterie.storage.stored_references import CheckedConverter, InvalidReferenceConverter
from workflows.core.messages import TeamInput

THRESHOLD = 32 * 1024
"""Bytes of a payload from which on it is kept outside of histories, where there is a storage."""

MAY_BE_KEPT_OUTSIDE = "coterie-large"
"""Marks a large payload that only programs of ours read."""

_PROGRAMS_ONLY = frozenset(
    {AgentRequest, AgentResponse, CompileResult, SkillRequest, SkillResult, TeamInput}
)
"""All else may be read with the plain `temporal` CLI, which has no storage."""

_SERIALIZER = SchemaSerializer(any_schema())


_LARGE = THRESHOLD - 100  # the mark and the encoding's name are of the payload too


class LeanJsonConverter(PydanticJSONPlainPayloadConverter):
    """Pydantic models as JSON, without the fields that have their default value."""

    def to_payload(self, value: object) -> Payload | None:
        """The value as UTF-8 JSON; takes anything, as the last of the converters."""
        data = _SERIALIZER.to_json(value, exclude_defaults=True, by_alias=True)
        payload = Payload(metadata={"encoding": self.encoding.encode()}, data=data)
        if len(data) >= _LARGE and type(value) in _PROGRAMS_ONLY:
            payload.metadata[MAY_BE_KEPT_OUTSIDE] = b"1"
        return payload


_JSON = LeanJsonConverter()
_INVALID = InvalidReferenceConverter()
_CONVERTERS = tuple(
    _JSON if isinstance(converter, JSONPlainPayloadConverter) else converter
    for converter in DefaultPayloadConverter.default_encoding_payload_converters
)


class LeanPayloadConverter(CompositePayloadConverter):
    """Temporal's own converters, with JSON replaced by ours."""

    def __init__(self) -> None:
        super().__init__(
            *_CONVERTERS, _INVALID
        )  # the SDK makes one for every payload of a workflow task


data_converter = CheckedConverter(payload_converter_class=LeanPayloadConverter)
"""Without a storage; `coterie.storage.large_values` makes the one of a client or worker."""
