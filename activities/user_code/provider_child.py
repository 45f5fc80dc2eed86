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
            lambda request, channel: handled(
                str(request["provider"]), providers.complete, request, channel
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
        self, make: Callable[..., Any], payload: dict[str, Any], channel: Channel
    ) -> dict[str, object]:
        """Build the provider, unless it exists, and pass the request to it."""
        key = f"{payload['provider']} {json.dumps(payload['settings'], sort_keys=True)}"
        if key not in self._providers:
            self._providers[key] = make(settings_from_json(payload["settings"]))
        request = request_from_json(payload["request"])
        if payload["streams"]:
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
