"""The bound of what an A2A client sends: the SDK looks at each value by itself, and slowly."""

import asyncio
import json
from typing import Final

from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from coterie.gateway.operations.error_reports import Rejection

MAX_BODY: Final = 256 * 1024
MAX_VALUES: Final = 5_000
"""JSON values of a body; the SDK needs 0.1 ms for each."""
_FIX: Final = "Send less, or a reference to it."


async def bounded_receive(scope: Scope, receive: Receive) -> Receive:
    """Read the body of a request; return what gives it to the SDK.

    Raises:
        Rejection: It is too large, or has too many values.
    """
    if scope["method"] in ("GET", "HEAD"):
        return receive
    body = bytearray()
    async for part in Request(scope, receive).stream():
        body += part
        if len(body) > MAX_BODY:
            raise Rejection(413, "too_large", f"the body has more than {MAX_BODY:,} bytes", _FIX)
    whole = bytes(body)
    await asyncio.to_thread(check_values, whole)
    is_given = False

    async def given() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": whole, "more_body": False}

    return given


def check_values(body: bytes) -> None:
    """Refuse a body with too many values, with the parser that the SDK uses too.

    Raises:
        Rejection: It has too many, or is nested too deeply.
    """
    try:
        unseen: list[object] = [json.loads(body)]
    except ValueError:
        return  # the SDK answers this as its binding says
    except RecursionError:
        raise Rejection(400, "unreadable_body", "the body is nested too deeply", _FIX) from None
    count = 0
    while unseen:
        value = unseen.pop()
        count += 1
        if count + len(unseen) > MAX_VALUES:
            text = f"the body has more than {MAX_VALUES:,} values"
            raise Rejection(413, "too_large", text, _FIX)
        match value:
            case dict():
                unseen.extend(value.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
            case list():
                unseen.extend(value)  # pyright: ignore[reportUnknownArgumentType]
            case _:
                pass
