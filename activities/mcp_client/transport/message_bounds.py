"""How large a message of a server may be: its bytes, and what they come to in memory."""

import re

MAX_LINE = 20_000_000
"""Bytes of one message."""

MAX_VALUES = 500_000
"""Values in one message: `{}` has two bytes, and takes thirty times as many in memory."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')


def has_too_many_values(body: bytes) -> bool:
    """Return whether a message in JSON has more values than one may have."""
    if _separators(body) <= MAX_VALUES:
        return False
    return _separators(_STRING.sub(b"", body)) > MAX_VALUES  # a text may have any commas


def _separators(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")
