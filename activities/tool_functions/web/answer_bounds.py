"""Bounds for answers that libraries read whole: decoded size, and time until the last byte.

`Web.fetch` streams its pages itself; the libraries of searches do not.
"""

from collections.abc import Iterable
from time import monotonic

MAX_ANSWER = 5_000_000
"""Bytes of one decoded answer."""

MAX_ANSWER_SECONDS = 20.0
"""From its request to its last byte."""


class AnswerUnbounded(Exception):
    """An answer is larger, or takes longer, than any that is of use."""


def read_bounded(chunks: Iterable[bytes], began: float) -> bytes:
    """Return an answer whole, if it is within the bounds.

    Args:
        chunks: Its decoded parts.
        began: When it was asked for, by `time.monotonic`.

    Raises:
        AnswerUnbounded: It is not.
    """
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > MAX_ANSWER:
            raise AnswerUnbounded(f"the answer has more than {MAX_ANSWER:,} bytes")
        if monotonic() - began > MAX_ANSWER_SECONDS:
            raise AnswerUnbounded(f"the answer took more than {MAX_ANSWER_SECONDS:g} s")
    return bytes(content)
