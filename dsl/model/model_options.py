"""Options of a model call that vendors name differently."""

from typing import Annotated, Literal

from pydantic import Field

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model works on an answer. Each model knows some of these."""

Thinking = Literal["adaptive", "off"] | Annotated[int, Field(ge=1024, le=1_000_000)]
"""Whether the model thinks before it answers: as much as it decides, not at all, or up to a number
of tokens."""

Reasoning = Literal["auto", "summary", "off"]
"""What people see of a model's thinking: what its vendor shows unasked; also a summary that the
vendor is asked for; nothing."""

PromptCache = Literal["auto", "off", "5m", "1h"]
"""Whether the vendor keeps the beginning of the request for the next one: `auto`, only where a next
one is likely, for five minutes; or always, for the given time."""

Cloud = Literal["bedrock", "vertex", "foundry"]
"""Where Claude runs besides at Anthropic: Amazon Bedrock, Google Vertex AI, Microsoft Foundry."""
