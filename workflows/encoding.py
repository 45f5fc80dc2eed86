"""What enters and what leaves the workflow, as it lies in history.

A message is one of ours, or it is told what is wrong; a value is small enough, or told why not.

Temporal refuses more than two megabytes; found out only then, the run would be tried again for
ever. So it is found out here, with the name of the largest part.
"""

import json
from typing import TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError
from temporalio import workflow
from temporalio.common import RawValue

from dsl.errors import RunRefused
from dsl.sizes import LARGEST

_HALF = 0.5
Model = TypeVar("Model", bound=BaseModel)


def decoded(raw: RawValue, model: type[Model]) -> Model:
    """A message as its type.

    Raises:
        RunRefused: with what is wrong, field by field. (A decoding error of the SDK's would
            retry the workflow task for ever, or drop a signal without a word.)
    """
    try:
        return model.model_validate(_value(raw))
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in details['loc']) or 'the value'}: {details['msg']}"
            for details in error.errors(include_url=False)
        )
        raise RunRefused(f"not a {model.__name__}: {wrong}") from None
    except (ValueError, RuntimeError, KeyError) as error:
        raise RunRefused(f"not a {model.__name__}: {error}") from None


def argument(raw: RawValue, model: type[Model], key: str) -> Model:
    """What a question asks: an object, the one value that its `key` names, or nothing.

    Raises:
        RunRefused: it is none of them.
    """
    try:
        value = _value(raw) if raw.payload.metadata else None
        if value is None:
            return model()
        return model.model_validate(value if isinstance(value, dict) else {key: value})
    except (ValueError, RuntimeError, KeyError):
        raise RunRefused("this is no question") from None


def _value(raw: RawValue) -> object:
    return workflow.payload_converter().from_payload(raw.payload)


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
