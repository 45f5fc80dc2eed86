"""A vendor's cache of the beginnings of requests, byte for byte, and what it reports of them.

Vendors cache tools, then the system prompt, then messages. What is compared here are slices of the
bytes on the wire: the same value in another notation is another beginning.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[\s,:]*")
_FROZEN = ("tools", "system", "instructions")
_LISTS = ("input", "messages")


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it stood on the wire."""

    frozen: tuple[str, ...]
    """Tools and system prompt."""
    messages: tuple[str, ...]
    marked: bool
    """Whether it asks for caching, as Anthropic's API needs."""

    @classmethod
    def of(cls, body: str) -> "Sent":
        """Cut a body into its slices."""
        values = raw_values(body)
        messages = next(raw_items(values[name]) for name in _LISTS if name in values)
        frozen = tuple(values.get(name, "") for name in _FROZEN)
        return cls(frozen, messages, '"cache_control"' in body)

    def begins(self, later: "Sent") -> bool:
        """Whether another request repeats this one."""
        count = len(self.messages)
        return self.frozen == later.frozen and self.messages == later.messages[:count]

    @property
    def tokens(self) -> int:
        """Its tokens: four characters each."""
        return sum(map(len, (*self.frozen, *self.messages))) // 4


@dataclass(slots=True)
class PrefixCache:
    """The requests so far."""

    cached: list[int] = field(default_factory=list[int])
    """The tokens of each request that the cache had."""
    given: list[int] = field(default_factory=list[int])
    """All tokens of each request."""
    _known: list[Sent] = field(default_factory=list[Sent])

    def take(self, path: str, body: str) -> tuple[int, int]:
        """Remember a request; return its tokens, and how many of them the cache had."""
        sent = Sent.of(body)
        found = [
            one.tokens
            for one in self._known
            if one.begins(sent) and (one.marked or not path.endswith("/messages"))
        ]
        self._known.append(sent)
        self.given.append(sent.tokens)
        self.cached.append(max(found, default=0))
        return self.given[-1], self.cached[-1]


def counted(answer: bytes, tokens: tuple[int, int], *, marked: bool) -> bytes:
    """Write the tokens of a request and its cached ones into an answer, streamed or not."""
    lines = answer.decode().split("\n")
    return "\n".join(_line(line, tokens, marked) for line in lines).encode()


def _line(line: str, tokens: tuple[int, int], marked: bool) -> str:
    begin, data = ("data: ", line[6:]) if line.startswith("data: ") else ("", line)
    if not data.startswith("{"):
        return line
    body: dict[str, Any] = json.loads(data)
    for holder in (body, body.get("message") or {}, body.get("response") or {}):
        usage: dict[str, Any] | None = holder.get("usage")
        if usage is not None:
            _count(usage, *tokens, marked=marked)
    return begin + json.dumps(body)


def _count(usage: dict[str, Any], all_: int, cached: int, *, marked: bool) -> None:
    if "prompt_tokens" in usage:
        usage |= {"prompt_tokens": all_, "prompt_tokens_details": {"cached_tokens": cached}}
    elif "total_tokens" in usage:
        usage |= {"input_tokens": all_, "input_tokens_details": {"cached_tokens": cached}}
    else:
        written = all_ - cached if marked else 0
        usage["input_tokens"] = all_ - cached - written
        usage |= {"cache_read_input_tokens": cached, "cache_creation_input_tokens": written}


def raw_values(text: str) -> dict[str, str]:
    """The values of a JSON object as they are written."""
    found: dict[str, str] = {}
    at = text.index("{") + 1
    while text[at := _after_space(text, at)] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _after_space(text, at)
        _, end = _DECODER.raw_decode(text, at)
        found[key], at = text[at:end], end
    return found


def raw_items(text: str) -> tuple[str, ...]:
    """The items of a JSON list as they are written."""
    found: list[str] = []
    at = text.index("[") + 1
    while text[at := _after_space(text, at)] != "]":
        _, end = _DECODER.raw_decode(text, at)
        found.append(text[at:end])
        at = end
    return tuple(found)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
