"""Files of the scripted provider: mistakes are reported by line, calls counted in a log."""

import asyncio
import fcntl
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coterie.activities.contracts import FailureType, StartedBatch
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripted import ScriptedProvider

ENTRY = "answers:\n  - task: a\n    answer: 1\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "the document is empty or not a mapping"),
        ("answers: 'a", 1, "YAML syntax: "),
        ("answers:\n  - {task: a, answer: 1}\n  b: c\n", 3, "YAML syntax: "),
        ("answers: 5", 1, "a script needs `answers`, a list of entries"),
        ("{}", 1, "a script needs `answers`, a list of entries"),
        ("answers: []\nanswer: []\n", 2, "unknown key 'answer'; a script has `answers`"),
        (ENTRY + "    task: b\n", 4, "duplicate key 'task'"),
        (ENTRY + "  - text\n", 4, "invalid entry, "),
        (
            "answers:\n  - task: a\n",
            2,
            "invalid entry, an entry has an `answer`, `tool_calls` or an `error`",
        ),
        (
            ENTRY + "    error: {message: no}\n",
            2,
            "invalid entry, an entry has an `answer`, `tool_calls` or",
        ),
        ("answers:\n  - {task: a, error: {type: X}}\n", 2, "invalid entry, error: Field required"),
        (ENTRY + "    visits: 2\n", 4, "invalid entry, visits: no field has this name;"),
        (
            "answers:\n  - {task: a, answer: yes, it rains}\n",
            2,
            "invalid entry, it rains: no field has this name; if `, it rains` belongs to the text",
        ),
        (ENTRY + "    visit: 0\n", 4, "invalid entry, visit: "),
        (ENTRY + "    stop_reason: stop\n", 4, "invalid entry, stop_reason: "),
        (ENTRY + "    seconds: fast\n", 4, "invalid entry, seconds: "),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(
    text: str, line: int, problem: str, tmp_path: Path
) -> None:
    script = tmp_path / "answers.yml"
    script.write_text(text)
    with pytest.raises(ProviderFailure) as caught:
        ScriptedProvider(script)
    failed = caught.value
    assert failed.message.startswith(f"{script}:{line}: {problem}")
    assert "\n" not in failed.message
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_REFUSED, False)


def test_a_script_that_is_not_there_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "none.yml"
    with pytest.raises(ProviderFailure) as caught:
        ScriptedProvider(script)
    assert caught.value.message == f"could not read the script {script}: No such file or directory"


def lines(log: Path) -> list[tuple[str, str]]:
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(entry["at"].endswith("+00:00") for entry in entries)
    return [(entry["event"], entry["label"]) for entry in entries]


async def test_the_log_has_a_line_before_and_after_each_answer(tmp_path: Path) -> None:
    script, log = tmp_path / "answers.yml", tmp_path / "calls.jsonl"
    script.write_text("answers: [{task: a, answer: x}]")
    for visit in (1, 2):
        provider = ScriptedProvider(script, log)  # a new process adds to the same file
        await provider.complete(ModelRequest(model="m", messages=(), label=f"t/a#{visit}.0"))
    assert lines(log) == [
        ("asked", "t/a#1.0"),
        ("answered", "t/a#1.0"),
        ("asked", "t/a#2.0"),
        ("answered", "t/a#2.0"),
    ]


async def test_the_log_has_a_line_for_the_batch_and_one_for_its_answer(tmp_path: Path) -> None:
    script, log = tmp_path / "answers.yml", tmp_path / "calls.jsonl"
    script.write_text("answers: [{task: a, answer: x, batch_seconds: 9}]")
    provider = ScriptedProvider(script, log)
    request = ModelRequest(model="m", messages=(), label="t/a#1.0")
    name = await provider.submit(request, "call", datetime.now(UTC))
    assert (
        await provider.collect(request, StartedBatch(id=name, custom_id="call", waited=8)) is None
    )
    assert lines(log) == [("asked", "t/a#1.0")]
    assert (
        await provider.collect(request, StartedBatch(id=name, custom_id="call", waited=9))
        is not None
    )
    assert lines(log) == [("asked", "t/a#1.0"), ("answered", "t/a#1.0")]


async def test_a_line_of_the_log_is_written_under_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk may leave half a line, which no other worker must append to."""
    script, log, sizes = tmp_path / "answers.yml", tmp_path / "calls.jsonl", list[int]()
    script.write_text("answers: [{task: a, answer: x}]")

    def lock(file: int, kind: int) -> None:
        assert kind == fcntl.LOCK_EX
        sizes.append(os.fstat(file).st_size)

    monkeypatch.setattr(fcntl, "flock", lock)
    request = ModelRequest(model="m", messages=(), label="t/a#1.0")
    await ScriptedProvider(script, log).complete(request)
    first, second = log.read_bytes().splitlines(keepends=True)
    assert sizes == [0, len(first)]
    assert second.endswith(b"\n")


async def test_a_call_that_is_cut_while_the_model_thinks_is_logged_as_asked(tmp_path: Path) -> None:
    script, log = tmp_path / "answers.yml", tmp_path / "calls.jsonl"
    script.write_text("answers: [{task: a, answer: x, seconds: 1h}]")
    request = ModelRequest(model="m", messages=(), label="t/a#1.0")
    call = asyncio.create_task(ScriptedProvider(script, log).complete(request))
    await asyncio.sleep(0)  # the call runs up to its first wait, which is the model's thinking
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert lines(log) == [("asked", "t/a#1.0")]


@pytest.mark.parametrize(
    ("seconds", "pieces", "pause"),
    [(0, ["a b c d"], 0), (0.1, ["a b ", "c d"], 0.05), (10, ["a ", "b ", "c ", "d"], 2.5)],
)
async def test_a_stream_spreads_its_words_over_the_time_of_the_answer(
    seconds: float, pieces: list[str], pause: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, shown, pauses = tmp_path / "answers.yml", list[str](), list[float]()
    script.write_text(f"answers: [{{task: a, answer: a b c d, seconds: {seconds}}}]")

    async def sleep(time: float) -> None:
        pauses.append(time)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    watched = ModelRequest(model="m", messages=(), label="t/a#1.0", on_text=shown.append)
    await ScriptedProvider(script).complete(watched)
    assert (shown, pauses) == (pieces, [pause] * len(pieces))
