"""Make ids, names, arguments and texts fit for any API. Pure, so the same bytes each time."""

import json
import re
from base64 import b64encode
from hashlib import sha256

from coterie.activities.providers.message_model import ImagePart, ToolResultPart
from coterie.activities.providers.provider import ModelRequest
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_INVALID = "invalid_json"
_MAX_ID = 40
_MAX_NAME = 64


def new_call_id(request: ModelRequest, index: int) -> str:
    """Return an id for a call of this turn, unique in its conversation, which only grows."""
    return f"call_{len(request.messages)}_{index}"


def strict_id(call_id: str) -> str:
    """Return the id for an API that limits ids to 40 letters, digits, hyphens, underscores."""
    return call_id if _ID.fullmatch(call_id) else _hash_call_id(call_id)


def short_id(call_id: str) -> str:
    """Return the id for an API that only limits the length: compatible servers parse their own."""
    return call_id if 0 < len(call_id) <= _MAX_ID else _hash_call_id(call_id)


def _hash_call_id(call_id: str) -> str:
    return f"call_{sha256(call_id.encode(errors='replace')).hexdigest()[:32]}"


def tool_name(name: str) -> str:
    """Return the name of a call that another model may have invented, for strict APIs."""
    return _NOT_IN_NAMES.sub("_", name)[:_MAX_NAME] or "_"


def arguments_object(arguments: str) -> Json:
    """Return the arguments of a call for an API that takes only an object.

    What is not one is wrapped, so the model sees what it wrote.
    """
    try:
        value = read_json(arguments)
    except ValueError:
        return {_INVALID: plain(arguments)}
    if value is None:
        return {}  # as it was called
    if not isinstance(value, dict):
        return {_INVALID: plain(arguments)}
    return value


def arguments_text(arguments: str) -> str:
    """Return the arguments as they came, if they are an object: some servers read them."""
    value = arguments_object(arguments)
    wrapped = value.keys() == {_INVALID} and value[_INVALID] == plain(arguments)
    is_object = not wrapped and arguments.lstrip().startswith("{")
    return plain(arguments) if is_object else json.dumps(value, ensure_ascii=False)


def plain(text: str) -> str:
    """Return the text without halves of surrogate pairs, which no request can contain."""
    return text.encode(errors="replace").decode()


def result_text(result: ToolResultPart) -> str:
    """Return the text of a result for an API without a flag for errors."""
    return plain(f"ERROR: {result.text}" if result.is_error else result.text)


PDF = "application/pdf"
FILE_NAME = "document.pdf"
"""The name that OpenAI's APIs demand of a document."""


def media_of(result: ToolResultPart) -> tuple[ImagePart, ...]:
    """Return the images and documents of a result."""
    return tuple(image for image in result.media if isinstance(image, ImagePart))


def data_url(image: ImagePart) -> str:
    """Return the image as a URL that contains it."""
    return f"data:{image.media_type};base64,{base64_of(image)}"


def base64_of(image: ImagePart) -> str:
    """Return the bytes of the image as base64."""
    return b64encode(image.data).decode()


def cache_key(request: ModelRequest) -> str:
    """Return a key that all requests of a conversation share: they have the same beginning."""
    first = [message.text for message in request.messages[:1]]
    begin = [request.system, [tool.name for tool in request.tools], first]
    return sha256(json.dumps(begin).encode()).hexdigest()[:32]
