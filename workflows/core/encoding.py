"""Encoding: what leaves the workflow, in the form that the history keeps.

Temporal refuses more than two megabytes, and would then retry the workflow task forever. So this
module checks the size first, and names the largest part.
"""

import json
from typing import cast

from pydantic import BaseModel, JsonValue
from temporalio import workflow
from temporalio.common import RawValue

from coterie.dsl.errors import TeamError
from coterie.dsl.sizes import MAX_VALUE_SIZE

_HALF = 0.5


def encoded(value: BaseModel) -> RawValue | str:
    """Return the value as an encoded payload, or why it is too large to be sent.

    Raises:
        TeamError: It holds what JSON has not; everything that enters a run is checked for that.
    """
    try:
        (payload,) = workflow.payload_converter().to_payloads([value])
    except (ValueError, RecursionError) as error:
        raise TeamError(f"a {type(value).__name__} holds what JSON has not: {error}") from None
    if len(payload.data) <= MAX_VALUE_SIZE:
        return RawValue(payload)
    where, size = _largest(cast("JsonValue", json.loads(payload.data)))
    return (
        f"it has {len(payload.data):,} bytes, more than the {MAX_VALUE_SIZE:,} that may travel; "
        f"the largest part is {where} ({size:,})"
    )


def _largest(value: JsonValue, path: str = "", size: int = 0) -> tuple[str, int]:
    """Return the deepest part that makes up half of what contains it."""
    if isinstance(value, dict) and value:
        sizes = {key: len(json.dumps(item)) for key, item in value.items()}
        key = max(sizes, key=lambda name: sizes[name])
        if not size or sizes[key] > size * _HALF:
            return _largest(value[key], f"{path}.{key}" if path else key, sizes[key])
    return path or "the value itself", size
