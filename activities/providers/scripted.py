"""Answer from a YAML file instead of a model: for tests, demos and first runs without keys.

    answers:
      - task: solution/design        # or `design` for every team
        visit: 2                     # optional: from this visit of the team on
        turn: 3                      # optional: from this turn of the conversation on
        reask: 1                     # optional: from this re-ask on
        compaction: true             # the summary that compacts the conversation; else no entry is
        contains: calculator.py      # optional: only if the prompt has this text, or all of a list
        answer: {approved: true}     # text, or any value: sent as JSON
        tool_calls:                  # or besides an answer: the calls that the model asks for
          - {tool: search, arguments: {query: rain}}
        error: {type: RateLimited, message: Not today}   # instead: the call fails for good
        stop_reason: end             # optional: end, max_tokens, refusal, other; default with
                                     # calls: tool_calls
        seconds: 0.5                 # optional: simulated duration; a stream is spread over it
        batch_seconds: 3600          # optional: how long a batch takes; `seconds` do not count then
        usage: {input_tokens: 900, output_tokens: 40}   # optional; default: estimated
        templates: true              # optional: fill in {{ prompts[0] }}, {{ results.search }}

Its label and its turn select the answer of a call, never the number of calls so far: after a crash
the same call gets the same answer. The file is read once per process.
"""

import asyncio
import errno
import fcntl
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from coterie.activities.contracts import FailureType, StartedBatch
from coterie.activities.os_errors import may_pass, reason_of
from coterie.activities.providers.message_model import (
    calls_of,
    text_of,
)
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripts.schema_answers import schema_content
from coterie.activities.providers.scripts.script import ScriptedAnswer, read_script
from coterie.activities.providers.scripts.script_templates import with_values
from coterie.activities.providers.scripts.scripted_choice import (
    choose,
    missing,
    named_call,
    refused,
)
from coterie.activities.providers.scripts.scripted_completion import (
    completion_of_entry,
    text_of_entry,
)
from coterie.activities.providers.translation.request_checks import check_request
from coterie.activities.threads.run_threads import TURN_THREADS

_PIECE_SECONDS = 0.05
_WORD = re.compile(r"\s*\S+\s*")


class ScriptedProvider:
    """Answers from a script."""

    def __init__(
        self, script: Path | None, log: Path | None = None, mock: Literal["schema"] | None = None
    ) -> None:
        """Read the script.

        Args:
            script: The YAML file of answers; None if every answer is made up.
            log: File that gets one JSON line before and one after each answer, `{"event": "asked"
                or "answered", "label": ..., "call": run id/activity id, "at": ISO 8601}`, to count
                calls even when the process is killed.
            mock: How a call without an entry is answered; None: it is refused.

        Raises:
            ProviderFailure: The script is invalid; says where.
        """
        self._script = script
        self._log = log
        self._mock = mock
        self._answers = () if script is None else read_script(script)

    @classmethod
    def of(cls, settings: ProviderSettings) -> "ScriptedProvider":
        """Build the provider from a worker's settings."""
        if settings.answers is None and settings.mock is None:
            raise refused(
                f"provider {settings.name!r} has no script: set `answers` to its path, or "
                "`mock: schema` to make up answers by the schemas of personas"
            )
        script = None if settings.answers is None else Path(settings.answers)
        return cls(script, Path(settings.log) if settings.log else None, settings.mock)

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the scripted answer to the call that the request's label names.

        Raises:
            ProviderFailure: The script has no answer for it; says which entry to add.
        """
        check_request(request)
        entry = with_values(await self._choose(request), request)
        self._note("asked", request)
        await _play(entry, request)
        self._note("answered", request)
        return completion_of_entry(entry, request)

    async def submit(self, request: ModelRequest, custom_id: str, since: datetime) -> str:
        """Take the call as a batch, which is the same one in every attempt.

        Raises:
            ProviderFailure: The script has no answer for it; says which entry to add.
        """
        check_request(request)
        with_values(await self._choose(request), request)
        self._note("asked", request)
        return custom_id

    async def collect(self, request: ModelRequest, batch: StartedBatch) -> Completion | None:
        """Return the scripted answer as soon as the batch has taken its time.

        Raises:
            ProviderFailure: The entry is an error.
        """
        entry = with_values(await self._choose(request), request)
        if batch.waited < entry.batch_seconds:
            return None
        self._note("answered", request)
        return completion_of_entry(entry, request)

    async def cancel(self, batch: StartedBatch) -> None:
        """Do nothing: no answer is lost."""

    async def close(self) -> None:
        """Do nothing."""

    async def _choose(self, request: ModelRequest) -> ScriptedAnswer:
        entry = choose(self._answers, request)
        if entry is not None:
            return entry
        if self._mock is not None:  # off the event loop: a hostile schema uses up its CPU budget
            return await TURN_THREADS.run(answer_by_schema, request)
        raise refused(f"{self._script} has no answer for {request.label!r}: {missing(request)}")

    def _note(self, event: Literal["asked", "answered"], request: ModelRequest) -> None:
        if self._log is None:
            return
        line = {
            "event": event,
            "label": request.label,
            "call": request.call,
            "at": datetime.now(UTC).isoformat(),
        }
        try:
            _append(self._log, (json.dumps(line) + "\n").encode())
        except OSError as error:
            named = "/".join(self._log.parts[-2:])
            raise ProviderFailure(
                FailureType.PROVIDER_UNAVAILABLE,
                f"could not write the log {named!r} of scripted answers: {reason_of(error)}",
                retryable=may_pass(error),
            ) from None


def _append(log: Path, line: bytes) -> None:
    """Append the whole line, or nothing.

    Write once with O_APPEND, so that a kill loses no line; hold a lock, so that no other worker
    appends after a partial line before it is removed.
    """
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        if os.write(file, line) < len(line):  # the disk became full within the line
            os.ftruncate(file, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(log))
    finally:
        os.close(file)


def answer_by_schema(request: ModelRequest) -> ScriptedAnswer:
    """Return an entry with an answer by the schema.

    Raises:
        ProviderFailure: No answer was found; never retried.
    """
    call = named_call(request.label)
    content = schema_content(request)
    entry: dict[str, object] = {"task": f"{call.team}/{call.task}"}
    calls = [{"tool": part.name, "arguments": part.arguments} for part in calls_of(content)]
    entry |= {"tool_calls": calls} if calls else {"answer": text_of(content)}
    return ScriptedAnswer.model_validate(entry)


async def _play(entry: ScriptedAnswer, request: ModelRequest) -> None:
    """Let the time of the answer pass; spread its words over it if somebody watches."""
    if request.on_text is None or entry.error is not None:
        await asyncio.sleep(entry.seconds)
        return
    words = _WORD.findall(text_of_entry(entry))
    steps = max(1, min(len(words), round(entry.seconds / _PIECE_SECONDS)))
    for step in range(steps):
        begin, end = (len(words) * at // steps for at in (step, step + 1))
        request.on_text("".join(words[begin:end]))
        await asyncio.sleep(entry.seconds / steps)
