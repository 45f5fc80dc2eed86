"""What leaves the workflow, as it will lie in history: small enough, or told why not.

Temporal refuses more than two megabytes; found out only then, the run would be tried again for
ever. So it is found out here, with the name of the largest part.
"""

import json
from typing import cast

from pydantic import BaseModel, JsonValue
from temporalio import workflow
from temporalio.common import RawValue

LARGEST = 2_000_000
"""Bytes of JSON."""

_HALF = 0.5


def encoded(value: BaseModel) -> RawValue | str:
    """The value as a payload, encoded once and for all; or why it cannot be sent."""
    try:
        (payload,) = workflow.payload_converter().to_payloads([value])
    except (ValueError, RecursionError) as error:
        return f"it holds what JSON has not: {error}"
    if len(payload.data) <= LARGEST:
        return RawValue(payload)
    where, size = _largest(cast("JsonValue", json.loads(payload.data)))
    return (
        f"it has {len(payload.data):,} bytes, more than the {LARGEST:,} that may travel; "
        f"the largest part is {where} ({size:,})"
    )


def _largest(value: JsonValue, path: str = "", size: int = 0) -> tuple[str, int]:
    """The deepest part that makes up half of what is around it."""
    if isinstance(value, dict) and value:
        sizes = {key: len(json.dumps(item)) for key, item in value.items()}
        key = max(sizes, key=lambda one: sizes[one])
        if not size or sizes[key] > size * _HALF:
            return _largest(value[key], f"{path}.{key}" if path else key, sizes[key])
    return path or "the value itself", size
