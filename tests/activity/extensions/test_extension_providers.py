"""A provider of a package answers as one of Coterie's own does, from a process of its own."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from coterie.activities.contracts import FailureType, TokenUsage
from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    OpaquePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.user_code.extension_provider import ExtensionProvider
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.tool_loop.exchange import OfferedTool
from coterie.dsl.values import Json

PROVIDERS = '''
import os
from dataclasses import replace

from coterie import Completion, ProviderError, TextPart, ToolCallPart


class Returning:
    """Sends back all parts that it gets, and a call."""

    def __init__(self, settings):
        self.settings = settings
        self.calls = 0

    async def complete(self, request):
        self.calls += 1
        if request.on_text:
            for piece in ("one ", "two"):
                request.on_text(piece)
        parts = [part for message in request.messages for part in message.content]
        tool, key = request.tool_choice.tool, self.settings.api_key
        parts.append(ToolCallPart("c1", "look", "{}"))
        parts.append(TextPart(f"{key} {self.calls} {tool} {os.getpid()}"))
        return Completion(tuple(parts), "tool_calls", request.model)


class Busy:
    def __init__(self, settings): ...

    async def complete(self, request):
        if request.model == "later":
            raise ProviderError("too many calls", retry=True, retry_after=7)
        if request.model == "never":
            raise ProviderError("no such model")
        if request.model == "dies":
            os._exit(3)
        if request.model == "breaks":
            raise RuntimeError("broken")
        return request.model
'''
SETTINGS = ProviderSettings(name="mine", kind="returning", api_key="s3cret", options={"a": 1})
REQUEST = ModelRequest(
    model="big",
    messages=(
        ModelMessage("user", (TextPart("hi"), ImagePart("image/png", b"\x00\xff"))),
        ModelMessage(
            "assistant",
            (
                ThinkingPart("mine", "big", {"signature": "x"}),
                OpaquePart("mine", {"type": "search"}),
                ToolCallPart("c0", "look", '{"a": '),
            ),
        ),
        ModelMessage("user", (ToolResultPart("c0", "not JSON", is_error=True),)),
    ),
    tools=(OfferedTool(name="look", description="Looks.", input_schema={"type": "object"}),),
    tool_choice=NamedTool(tool="look"),
    label="team/task#1.0",
)


@pytest_asyncio.fixture
async def user_code(tmp_path: Path) -> AsyncGenerator[UserCode]:
    (tmp_path / "my_providers.py").write_text(PROVIDERS)
    made = UserCode(tmp_path, {}, (str(tmp_path),))
    yield made
    await made.close()


async def test_requests_and_answers_cross_the_processes_whole(user_code: UserCode) -> None:
    provider = ExtensionProvider("my_providers:Returning", SETTINGS, user_code)
    completion = await provider.complete(REQUEST)
    *parts, text = completion.content
    sent = [part for message in REQUEST.messages for part in message.content]
    assert parts == [*sent, ToolCallPart("c1", "look", "{}")]
    assert (completion.stop_reason, completion.model) == ("tool_calls", "big")
    assert isinstance(text, TextPart)
    key, calls, tool, process = text.text.split()
    assert (key, calls, tool) == ("s3cret", "1", "look")
    again = (await provider.complete(REQUEST)).content[-1]
    kept = TextPart(f"{key} 2 {tool} {process}")
    assert again == kept, "the provider and its connections are kept"


async def test_a_streaming_provider_is_heard_piece_by_piece(user_code: UserCode) -> None:
    provider = ExtensionProvider("my_providers:Returning", SETTINGS, user_code)
    heard: list[str] = []
    await provider.complete(replace(REQUEST, on_text=heard.append))
    assert heard == ["one ", "two"]


@pytest.mark.parametrize(
    ("name", "model", "kind", "message", "after"),
    [
        ("Busy", "later", FailureType.PROVIDER_UNAVAILABLE, "too many calls", 7.0),
        ("Busy", "never", FailureType.PROVIDER_REFUSED, "no such model", None),
        ("Busy", "dies", FailureType.PROVIDER_UNAVAILABLE, "ended with exit code 3", None),
        ("Busy", "x", FailureType.PROVIDER_REFUSED, "raised TypeError", None),
        ("Busy", "breaks", FailureType.PROVIDER_REFUSED, "broken (my_providers.py:", None),
        ("Bussy", "x", FailureType.PROVIDER_REFUSED, "does not exist; did you mean 'Busy'?", None),
    ],
)
async def test_a_failure_says_whether_and_when_to_retry(
    user_code: UserCode, name: str, model: str, kind: str, message: str, after: float | None
) -> None:
    provider = ExtensionProvider(f"my_providers:{name}", SETTINGS, user_code)
    with pytest.raises(ProviderFailure) as caught:
        await provider.complete(replace(REQUEST, model=model))
    assert message in caught.value.message
    assert "s3cret" not in caught.value.message
    assert (caught.value.kind, caught.value.retry_after) == (kind, after)
    assert caught.value.retryable == (kind == FailureType.PROVIDER_UNAVAILABLE)


async def test_the_example_answers_by_its_options() -> None:
    folder = Path(__file__).parents[3] / "examples" / "plugin"
    options: Json = {"loud": True}
    user_code = UserCode(folder, {}, (str(folder),))
    try:
        provider = ExtensionProvider(
            "coterie_plugin.providers:Parrot", replace(SETTINGS, options=options), user_code
        )
        plain = ModelRequest(model="grey", messages=(ModelMessage.of("user", "hi there"),))
        usage = TokenUsage(input_tokens=2, output_tokens=2)
        assert await provider.complete(plain) == Completion.of("HI THERE", "end", "grey", usage)
    finally:
        await user_code.close()
