"""What a request of OpenAI's API may ask for: each parameter is used, ignored or refused."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from pydantic import JsonValue, ValidationError

from coterie.dsl.errors import listed
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Frozen, Json
from coterie.dsl.visible import shortened_text, visible
from coterie.gateway.doors.openai.conversation import ChatRole, ChatText
from coterie.gateway.doors.openai.openai_errors import ParameterRejection
from coterie.gateway.operations.error_reports import problems_of

MAX_MESSAGES: Final = 2_000
MAX_METADATA: Final = 64
MAX_SESSION: Final = 200
"""Characters of the name of a session."""
_MAX_PARTS: Final = 1_000

_TEXT_FORMATS: Final[tuple[JsonValue, ...]] = (None, {"type": "text"})
_NO_TOOLS: Final[tuple[JsonValue, ...]] = (None, [])
_NO_CHOICE: Final[tuple[JsonValue, ...]] = (None, "none", "auto")

IGNORED: Final = frozenset(
    {
        "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "max_output_tokens",
        "presence_penalty", "frequency_penalty", "reasoning", "reasoning_effort", "verbosity",
        "truncation", "parallel_tool_calls", "service_tier", "store", "prompt_cache_key",
        "prompt_cache_retention",
        "prompt_cache_options",
    }
)  # fmt: skip
"""What many clients always send, and what the personas of a team decide."""

_ONLY: Final[Mapping[str, Sequence[JsonValue]]] = {
    "n": (None, 1),
    "tools": _NO_TOOLS,
    "functions": _NO_TOOLS,
    "tool_choice": _NO_CHOICE,
    "function_call": _NO_CHOICE,
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "logit_bias": (None, {}),
    "stop": (None, []),
    "response_format": _TEXT_FORMATS,
    "modalities": (None, ["text"]),
    "include": (None, []),
    "background": (None, False),
    "text": (None, {}, {"format": {"type": "text"}}),
}
"""The values with which a parameter changes nothing; any other is refused."""


class StreamOptions(Frozen):
    """What a client wants beside the text of a stream."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class AskedBase(Frozen):
    """The parameters that both endpoints use."""

    model: str
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    metadata: Json | None = None
    user: str | None = None
    safety_identifier: str | None = None


class ChatAsked(AskedBase):
    """The parameters that `chat/completions` uses."""

    messages: list[Json]


class ResponseAsked(AskedBase):
    """The parameters that `responses` uses."""

    input: str | list[Json]
    instructions: str | None = None
    previous_response_id: str | None = None


Asked = TypeVar("Asked", bound=AskedBase)


class AskedBy(NamedTuple):
    """What says who asks, and in which session, beside the verified identity."""

    person: str
    """As the client names its user; only separates conversations."""
    session: str
    """The name of the session; empty: the messages tell."""


def read_asked(body: bytes, model: type[Asked]) -> Asked:
    """Read the body of a request.

    Raises:
        ParameterRejection: A parameter is missing, wrong, or one that the door refuses.
    """
    try:
        sent = read_json(body)
    except ValueError as error:
        text = shortened_text(visible(str(error)), 200)
        raise ParameterRejection("", f"the body is not JSON: {text}") from None
    if not isinstance(sent, dict):
        raise ParameterRejection("", "the body is not a JSON object")
    used = {name: value for name, value in sent.items() if name in model.model_fields}
    for name in sent.keys() - used.keys() - IGNORED:
        _check_unused(name, sent[name], model.model_fields)
    try:
        return model.model_validate(used)
    except ValidationError as error:
        problem = problems_of(error)[0]
        name = ".".join(str(part) for part in problem["loc"])
        raise ParameterRejection(name, f"{name}: {problem['msg']}") from None


def _check_unused(name: str, value: JsonValue, used: Collection[str]) -> None:
    shown = shortened_text(visible(name), 100)
    if name not in _ONLY:
        raise ParameterRejection(
            shown,
            f"there is no parameter {shown!r} here",
            f"Leave it out. Used are: {listed(used)}.",
        )
    if value not in _ONLY[name]:
        allowed = " or ".join(repr(one) for one in _ONLY[name] if one is not None)
        raise ParameterRejection(
            name,
            f"a team does not take {name!r} with this value",
            f"Leave it out, or send {allowed}.",
        )


def asked_by(asked: AskedBase, header: str | None) -> AskedBy:
    """Return whose request it is, as far as the client says.

    Raises:
        ParameterRejection: The name of the session is none.
    """
    metadata = asked.metadata or {}
    if len(metadata) > MAX_METADATA:
        raise ParameterRejection("metadata", f"metadata has more than {MAX_METADATA} keys")
    given = header if header else metadata.get("session", "")
    if not isinstance(given, str) or len(given) > MAX_SESSION or not given.isprintable():
        raise ParameterRejection(
            "metadata.session",
            f"the name of a session is a text of at most {MAX_SESSION} visible characters",
        )
    return AskedBy(asked.safety_identifier or asked.user or "", given.strip())


def chat_texts(messages: Sequence[Json], where: str) -> list[ChatText]:
    """Read the messages of a request.

    Args:
        messages: As sent.
        where: The parameter that has them.

    Raises:
        ParameterRejection: One is not a text, or comes from a tool.
    """
    if not 0 < len(messages) <= MAX_MESSAGES:
        raise ParameterRejection(
            where, f"{where} has {len(messages)} items; send 1 to {MAX_MESSAGES:,}"
        )
    return [_chat_text(one, f"{where}[{place}]") for place, one in enumerate(messages)]


def _chat_text(message: Json, where: str) -> ChatText:
    kind = message.get("type", "message")
    if kind != "message":
        raise ParameterRejection(f"{where}.type", f"{where} is no message", "Send messages only.")
    for name in ("tool_calls", "function_call", "audio"):
        if message.get(name):
            raise ParameterRejection(f"{where}.{name}", f"a team does not take {where}.{name}")
    return ChatText(_role_of(message.get("role"), where), _text_of(message.get("content"), where))


def _role_of(role: JsonValue, where: str) -> ChatRole:
    match role:
        case "system" | "developer" | "user" | "assistant":
            return role
        case _:
            raise ParameterRejection(
                f"{where}.role",
                f"the role of {where} is none that a team takes",
                "Allowed are: system, developer, user, assistant.",
            )


def _text_of(content: JsonValue, where: str) -> str:
    match content:
        case str():
            return content
        case None:
            return ""
        case list() if len(content) <= _MAX_PARTS:
            return "".join(
                _part_text(one, f"{where}.content[{n}]") for n, one in enumerate(content)
            )
        case _:
            raise ParameterRejection(
                f"{where}.content", f"{where}.content is neither a text nor a list of few parts"
            )


def _part_text(part: JsonValue, where: str) -> str:
    match part:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return text
        case {"type": "refusal", "refusal": str(text)}:
            return text
        case _:
            raise ParameterRejection(
                where, f"{where} is no text, and a team takes texts only", "Send `type: text`."
            )
