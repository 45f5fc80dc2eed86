"""What the door of AG-UI hands on to what speaks the protocol."""

from typing import NamedTuple

from coterie.gateway.identity.identity import Identity


class AguiCall(NamedTuple):
    """One request of a client."""

    team: str
    body: bytes
    last_event: str
    """Its header `Last-Event-ID`; empty if it has none."""
    identity: Identity
