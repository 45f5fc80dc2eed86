"""Run model providers of packages in a child process, with one event loop for all calls.

A provider is built once per process and settings, so its connections stay open between calls.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from coterie.activities.processes.child_loop import Channel, serve
from coterie.activities.providers.request_json import (
    completion_to_json,
    request_from_json,
    settings_from_json,
)
from coterie.activities.user_code.extension_child import handled
from coterie.activities.user_code.provider_errors import ProviderError


def main() -> None:
    """Serve calls of providers."""
    with asyncio.Runner() as runner:
        providers = _Built(runner)
        serve(
            lambda asked, channel: handled(
                str(asked["provider"]), providers.complete, asked, channel
            )
        )


def _tell(channel: Channel, text: str) -> None:
    channel.note({"ask": "text", "text": text})


class _Built:
    """The providers of this process."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._run = runner.run
        self._providers: dict[str, Any] = {}

    def complete(
        self, make: Callable[..., Any], asked: dict[str, Any], channel: Channel
    ) -> dict[str, object]:
        """Build the provider, unless it exists, and pass the request to it."""
        key = f"{asked['provider']} {json.dumps(asked['settings'], sort_keys=True)}"
        if key not in self._providers:
            self._providers[key] = make(settings_from_json(asked["settings"]))
        request = request_from_json(asked["request"])
        if asked["streams"]:
            request = replace(request, on_text=partial(_tell, channel))
        try:
            completion = self._run(self._providers[key].complete(request))
        except ProviderError as error:
            return {
                "kind": "provider_error",
                "reason": str(error),
                "retry": error.retry,
                "retry_after": error.retry_after,
            }
        return {"kind": "completed", "completion": completion_to_json(completion)}
