"""Keep the head and the tail of an output of any length."""


class BoundedOutput:
    """Collects bytes; returns text of bounded size that marks the cut."""

    def __init__(self, head: int = 8_000, tail: int = 24_000) -> None:
        """Keep the first `head` bytes and the last `tail` bytes."""
        self._head_limit, self._tail_limit = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0
        """Bytes taken so far."""

    @property
    def kept(self) -> tuple[bytes, bytes]:
        """Head and tail, from which `of` continues."""
        return bytes(self._head), bytes(self._tail)

    @classmethod
    def of(cls, head: bytes, tail: bytes, total: int) -> "BoundedOutput":
        """Continue an output of `total` bytes."""
        output = cls()
        output._head += head
        output._tail += tail
        output.total = total
        return output

    @property
    def cut(self) -> bool:
        """Whether the text is incomplete."""
        return self.total > self._head_limit + self._tail_limit

    def take(self, chunk: bytes) -> None:
        """Append a chunk."""
        self.total += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[: -self._tail_limit]

    def text(self) -> str:
        """Return head and tail as text, with invalid UTF-8 replaced."""
        if not self.cut:
            return (self._head + self._tail).decode(errors="replace")
        head, tail = bytes(self._head), bytes(self._tail[-self._tail_limit :])
        # Cut at line ends, if there are any, so that no line is partial.
        head = head[: head.rfind(b"\n") + 1] or head
        tail = tail[tail.find(b"\n") + 1 :] or tail
        missing = self.total - len(head) - len(tail)
        gap = f"[... {missing} of {self.total} bytes cut ...]\n"
        between = "" if head.endswith(b"\n") else "\n"
        return head.decode(errors="replace") + between + gap + tail.decode(errors="replace")
