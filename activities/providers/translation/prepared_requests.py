"""Prepare a request for its model: checked, without parts that only another one takes. Pure."""

from dataclasses import replace

from coterie.activities.providers.message_model import ModelMessage, ThinkingPart, unbound
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.translation.request_checks import check_request
from coterie.dsl.model.vendors.vendors import VendorApi, offered_description


def prepared(request: ModelRequest, settings: ProviderSettings) -> ModelRequest:
    """Return the request as its model may get it.

    Raises:
        ProviderFailure: No model of this API accepts it; never retried.
    """
    own = with_fitting_tools(for_model(request, settings), settings.vendor_api)
    check_request(own, settings)
    return own


def with_fitting_tools(request: ModelRequest, api: VendorApi | None) -> ModelRequest:
    """Return the request with descriptions of tools that its API takes."""
    tools = tuple(
        tool.model_copy(update={"description": offered_description(tool.description, api)})
        for tool in request.tools
    )
    return request if tools == request.tools else replace(request, tools=tools)


def for_model(request: ModelRequest, settings: ProviderSettings) -> ModelRequest:
    """Return the request without what other models have sent beside their texts and calls.

    Thinking belongs to the model that was asked, and so do the ids that link texts and calls to it.
    """
    messages = tuple(_for_model(message, request.model, settings) for message in request.messages)
    if messages == request.messages:
        return request
    return replace(request, messages=_join_messages(messages))


def _for_model(message: ModelMessage, model: str, settings: ProviderSettings) -> ModelMessage:
    thoughts = [part for part in message.content if isinstance(part, ThinkingPart)]
    if all(_is_own(thought, model, settings) for thought in thoughts):
        return message
    return ModelMessage(message.role, unbound(message.content))


def _is_own(thought: ThinkingPart, model: str, settings: ProviderSettings) -> bool:
    if (thought.provider, thought.model) != (settings.name, model):
        return False
    match thought.opaque:
        case {"type": "reasoning", **rest} if settings.vendor_api == "responses":
            return bool(rest.get("encrypted_content"))  # OpenAI has stored no other
        case _:
            return True


def _join_messages(messages: tuple[ModelMessage, ...]) -> tuple[ModelMessage, ...]:
    """Return the messages without empty ones, and neighbours of one role as one."""
    result: list[ModelMessage] = []
    for message in messages:
        if not message.content:
            continue
        if result and result[-1].role == message.role:
            before = result.pop()
            message = ModelMessage(message.role, (*before.content, *message.content))
        result.append(message)
    return tuple(result)
