"""Bound the texts of MCP servers, for those who must not import the MCP SDK to do so."""

from coterie.dsl.visible import visible


def cut_text(given: str, size: int) -> str:
    """Return a text visible, and cut off after some bytes."""
    text = visible(given)
    encoded = text.encode()
    if len(encoded) <= size:
        return text
    head = encoded[:size].decode(errors="ignore")
    return f"{head}\n[cut off: {len(encoded) - len(head.encode())} more bytes]"
