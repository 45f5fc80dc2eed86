"""The state of a program that waits for calls, as bytes: how far it is, and the sandbox's snapshot.

Only the version of the sandbox that wrote a snapshot may load it.
"""

import json
import zlib
from typing import NamedTuple

from pydantic import Field, ValidationError
from pydantic_monty import __version__ as SANDBOX_VERSION

from coterie.dsl.values import Frozen

_MARK = b"coterie-program-1\n"
_END_OF_HEADER = b"\n"
MAX_STATE_BYTES = 4_000_000
"""Bytes of a stored state."""
_MAX_UNPACKED = 64_000_000


class StateUnusable(Exception):
    """A state cannot be continued here; the message says why."""


class ProgramHeader(Frozen):
    """What is known of a program beside its snapshot."""

    sandbox: str = SANDBOX_VERSION
    """The version that wrote the snapshot."""
    functions: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """`{name in the code: names of its parameters}`."""
    is_bound: bool = False
    """Whether its last expression is bound to a name."""
    calls: int = 0
    """Calls so far."""
    seconds: float = 0.0
    """How long it has run."""
    head: str = ""
    """The beginning of what it has printed, and its end: a character is a byte."""
    tail: str = ""
    printed: int = 0
    """Bytes that it has printed."""


class ProgramState(NamedTuple):
    """A program between two activities."""

    header: ProgramHeader
    snapshot: bytes


def packed(state: ProgramState) -> bytes:
    """Return the state as bytes.

    Raises:
        StateUnusable: It is too large.
    """
    header = json.dumps(state.header.model_dump(mode="json", exclude_defaults=False)).encode()
    data = _MARK + zlib.compress(header + _END_OF_HEADER + state.snapshot)
    if len(data) > MAX_STATE_BYTES or len(state.snapshot) > _MAX_UNPACKED // 2:
        raise StateUnusable(
            f"at a call, the variables of the code take more than {MAX_STATE_BYTES:,} bytes; "
            "keep less in variables while it calls tools"
        )
    return data


def unpacked(data: bytes) -> ProgramState:
    """Return the state from its bytes.

    Raises:
        StateUnusable: The bytes are damaged, or from another version of the sandbox.
    """
    if not data.startswith(_MARK):
        raise StateUnusable(
            "another version of Coterie wrote the state of the code; this one cannot continue it"
        )
    try:
        reader = zlib.decompressobj()
        plain = reader.decompress(data.removeprefix(_MARK), _MAX_UNPACKED)
        head, _, snapshot = plain.partition(_END_OF_HEADER)
        header = ProgramHeader.model_validate_json(head)
    except (zlib.error, ValidationError):
        raise StateUnusable("the state of the code is damaged") from None
    if reader.unconsumed_tail or not reader.eof:
        raise StateUnusable("the state of the code is damaged")
    if header.sandbox != SANDBOX_VERSION:
        raise StateUnusable(
            f"the code stopped at its call {header.calls} in the sandbox pydantic-monty "
            f"{header.sandbox}, and this worker has {SANDBOX_VERSION}, which cannot continue it; "
            "the calls until then have been made"
        )
    return ProgramState(header, snapshot)
