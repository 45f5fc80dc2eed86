"""The scripted model as a provider of a package, which notes the digest of each request.

Two requests have the same digest when the same bytes would reach a model: its label, its turn and
the id of the call select a scripted answer, and are never sent.
"""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from coterie import Completion, ModelRequest, ProviderError, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.request_json import request_to_json
from coterie.activities.providers.scripted import ScriptedProvider

_NEVER_SENT = ("label", "turn", "call", "purpose")


class NotedModel:
    def __init__(self, settings: ProviderSettings) -> None:
        self._script = ScriptedProvider(Path(str(settings.options["answers"])))
        self._log = Path(str(settings.options["log"]))

    async def complete(self, request: ModelRequest) -> Completion:
        self._note("asked", request)
        try:
            completion = await self._script.complete(request)
        except ProviderFailure as failure:
            raise ProviderError(str(failure)) from None
        self._note("answered", request)
        return completion

    def _note(self, event: str, request: ModelRequest) -> None:
        line = {
            "event": event,
            "label": request.label,
            "turn": request.turn,
            "call": request.call,
            "digest": digest(request),
            "at": datetime.now(UTC).isoformat(),
        }
        file = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, (json.dumps(line) + "\n").encode())
        finally:
            os.close(file)


def digest(request: ModelRequest) -> str:
    sent = {key: value for key, value in request_to_json(request).items() if key not in _NEVER_SENT}
    return hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()
