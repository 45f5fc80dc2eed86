"""The one message model that every API is translated from and to.

A message is a tuple of parts. Parts that only one provider understands carry its name, so they
return to it unchanged and reach no other: thinking, items of an unknown type, and `extra`.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Base64Bytes, Discriminator, JsonValue

from coterie.dsl.values import Json

Role = Literal["user", "assistant"]

Extra = dict[str, Json]
"""`{provider: what it sent beside the part}`, returned to that provider only."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of a person, a plan or a model."""

    text: str
    extra: Extra | None = None
    type: Literal["text"] = field(default="text", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A call that the model wants."""

    id: str
    """Pairs the call with its result."""
    name: str
    arguments: str
    """Raw JSON as the model wrote it, valid or not."""
    extra: Extra | None = None
    type: Literal["tool_call"] = field(default="tool_call", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image for the model, or a PDF document."""

    media_type: str
    data: Base64Bytes = field(repr=False)
    """The raw bytes; base64 in JSON."""
    type: Literal["image"] = field(default="image", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class StoredPart:
    """An image or a PDF document in the storage, so no conversation and no history has the bytes.

    Its content replaces it before a provider gets the message.
    """

    name: str
    """Of the stored value."""
    type: Literal["stored"] = field(default="stored", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """The result of one call; stands in the user message right after the call's."""

    call_id: str
    text: str
    is_error: bool = False
    media: tuple[ImagePart | StoredPart, ...] = ()
    """What the model sees besides the text."""
    type: Literal["tool_result"] = field(default="tool_result", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """Thinking of a model, signed or encrypted by its vendor."""

    provider: str
    """The worker's name of the provider that sent it."""
    model: str
    """The model that was asked, by the name of the request: only this one gets it back."""
    opaque: JsonValue
    """As received; nobody here reads it."""
    type: Literal["thinking"] = field(default="thinking", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """An item of a type that is unknown here, such as the result of a vendor's own tool."""

    provider: str
    """The worker's name of the provider that sent it."""
    item: Json
    """As received."""
    type: Literal["opaque"] = field(default="opaque", kw_only=True, repr=False)


Part = TextPart | ToolCallPart | ToolResultPart | ThinkingPart | ImagePart | StoredPart | OpaquePart

Content = tuple[Annotated[Part, Discriminator("type")], ...]


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message of a conversation. Results of calls come first in a user message."""

    role: Role
    content: Content

    @classmethod
    def of(cls, role: Role, text: str) -> "ModelMessage":
        """Build a message of one text."""
        return cls(role, (TextPart(text),))

    @property
    def text(self) -> str:
        """The text, joined; without calls, results and thinking."""
        return text_of(self.content)


def text_of(content: tuple[Part, ...]) -> str:
    """Return the joined text of the parts."""
    return "".join(part.text for part in content if isinstance(part, TextPart))


def calls_of(content: tuple[Part, ...]) -> tuple[ToolCallPart, ...]:
    """Return the calls among the parts, in order."""
    return tuple(part for part in content if isinstance(part, ToolCallPart))


def returnable(content: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return what of an answer may stand in a conversation; nothing if it has no text and no call.

    Vendors refuse an answer that is empty, that is thinking alone, or that ends with thinking.
    """
    if not calls_of(content) and not text_of(content).strip():
        return ()
    end = len(content)
    while isinstance(content[end - 1], ThinkingPart):
        end -= 1
    return content[:end]


def unbound(content: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return an answer without what only its own model takes, in its own conversation."""
    parts = (_unbound(part) for part in content)
    return tuple(part for part in parts if part is not None)


def _unbound(part: Part) -> Part | None:
    match part:
        case ThinkingPart() | OpaquePart():
            return None
        case TextPart(text=text):
            return TextPart(text)
        case ToolCallPart(id=call, name=name, arguments=arguments):
            return ToolCallPart(call, name, arguments)
        case _:
            return part
