"""Which scripted answer a call gets: by its label alone, however often it is asked."""

from dataclasses import replace
from pathlib import Path

import pytest

from coterie.activities.contracts import FailureType, StartedBatch, TokenUsage
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripted import ScriptedProvider

SCRIPT = """
answers:
  - {task: design, answer: any design}
  - {task: design, visit: 2, answer: any design from 2}
  - {task: solution/design, answer: design}
  - {task: solution/design, visit: 2, answer: design 2}
  - {task: solution/design, visit: 2, reask: 1, answer: design 2 again}
  - {task: review, visit: 1, answer: first review}
  - {task: review, visit: 3, answer: third review}
  - {task: review, visit: 3, reask: 2, answer: third review mended}
  - {task: change, answer: other file}
  - {task: change, contains: src/a.py, answer: file a}
  - {task: change, contains: [src/a.py, line 4], answer: line 4 of file a}
  - {task: twice, answer: one}
  - {task: twice, answer: two}
  - {task: talk, answer: hello}
  - {task: talk, turn: 2, answer: go on}
  - {task: talk, turn: 2, visit: 9, answer: go on again}
  - {task: talk, turn: 4, reask: 1, answer: fourth again}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "answers.yml"
    path.write_text(SCRIPT)
    return path


def asked(label: str, prompt: str = "go") -> ModelRequest:
    return ModelRequest(model="m", messages=(ModelMessage.of("user", prompt),), label=label)


async def said(script: Path, label: str, prompt: str = "go") -> str:
    return (await ScriptedProvider(script).complete(asked(label, prompt))).text


@pytest.mark.parametrize(
    ("turn", "label", "answer"),
    [
        (1, "x/talk#1.0", "hello"),
        (2, "x/talk#1.0", "go on"),
        (2, "x/talk#9.0", "go on again"),
        (3, "x/talk#2.0", "hello"),
        (5, "x/talk#9.1", "hello"),
        (4, "x/talk#1.1", "fourth again"),
    ],
)
async def test_a_turn_of_a_conversation_selects_its_answer(
    script: Path, turn: int, label: str, answer: str
) -> None:
    request = replace(asked(label), turn=turn)
    assert (await ScriptedProvider(script).complete(request)).text == answer


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("solution/design#1.0", "design"),
        ("solution/design#2.0", "design 2"),
        ("solution/design#2.1", "design 2 again"),
        ("solution/design#2.2", "design 2"),
        ("solution/design#3.0", "design"),
        ("solution/design#3.1", "design"),
        ("other/design#1.0", "any design"),
        ("other/design#2.0", "any design from 2"),
        ("other/design#5.0", "any design"),
        ("x/review#1.0", "first review"),
        ("x/review#2.0", "first review"),
        ("x/review#3.1", "third review"),
        ("x/review#4.0", "third review"),
        ("x/review#3.2", "third review mended"),
        ("x/twice#1.0", "one"),
    ],
)
async def test_the_nearest_entry_answers(script: Path, label: str, answer: str) -> None:
    assert await said(script, label) == answer


async def test_a_text_in_the_prompt_tells_the_turns_of_a_loop_apart(script: Path) -> None:
    assert await said(script, "x/change#1.0", "please change src/a.py") == "file a"
    assert await said(script, "x/change#1.0", "line 4 of src/a.py") == "line 4 of file a"
    assert await said(script, "x/change#1.0", "please change src/b.py") == "other file"


async def test_the_same_call_gets_the_same_answer_in_any_process(script: Path) -> None:
    provider = ScriptedProvider(script)
    answers = [(await provider.complete(asked("solution/design#2.0"))).text for _ in range(3)]
    assert answers == ["design 2"] * 3


@pytest.mark.parametrize("label", ["solution/lost#2.0", "other/reviews#1.0"])
async def test_a_call_without_an_answer_is_reported_the_entry_to_add(
    script: Path, label: str
) -> None:
    with pytest.raises(ProviderFailure) as caught:
        await said(script, label)
    task, visit = label.removesuffix(".0").split("#")
    assert caught.value.message == (
        f"{script} has no answer for {label!r}: add an entry like "
        f"`- {{task: {task}, visit: {visit}, answer: ...}}`"
    )
    assert (caught.value.kind, caught.value.retryable) == (FailureType.PROVIDER_REFUSED, False)


async def test_an_entry_for_later_visits_does_not_answer_earlier_ones(tmp_path: Path) -> None:
    path = tmp_path / "late.yml"
    path.write_text("answers: [{task: late, visit: 2, answer: x}, {task: r, reask: 1, answer: y}]")
    for label in ("t/late#1.0", "t/r#1.0"):
        with pytest.raises(ProviderFailure, match="has no answer"):
            await said(path, label)


@pytest.mark.parametrize("label", ["", "design", "team/design", "team/design#1", "team/x#a.b"])
async def test_a_call_without_a_full_label_is_refused(script: Path, label: str) -> None:
    with pytest.raises(ProviderFailure, match=r"need a label like team/task#1\.0"):
        await said(script, label)


async def test_the_answer_carries_what_the_entry_says(tmp_path: Path) -> None:
    path = tmp_path / "full.yml"
    path.write_text(
        "answers:\n"
        "  - task: a\n"
        "    answer: {approved: yes, items: [1, ü]}\n"
        "    stop_reason: max_tokens\n"
        "    usage: {input_tokens: 5, output_tokens: 6, cached_tokens: 4}\n"
    )
    completion = await ScriptedProvider(path).complete(asked("t/a#1.0"))
    assert completion == Completion.of(
        text='{"approved": "yes", "items": [1, "ü"]}',
        stop_reason="max_tokens",
        model="m",
        usage=TokenUsage(input_tokens=5, output_tokens=6, cached_tokens=4),
    )


async def test_usage_is_counted_from_the_text_unless_it_is_given(script: Path) -> None:
    request = ModelRequest(
        model="m",
        system="four",
        messages=(ModelMessage.of("user", "eleven more"),),
        label="t/twice#1.0",
    )
    completion = await ScriptedProvider(script).complete(request)
    assert completion.usage == TokenUsage(input_tokens=4, output_tokens=1)


async def test_an_entry_may_play_a_call_that_fails_for_good(tmp_path: Path) -> None:
    path = tmp_path / "answers.yml"
    path.write_text("""
        answers:
          - {task: a, answer: fine}
          - {task: a, visit: 2, error: {type: RateLimited, message: Not today}}
          - {task: a, visit: 3, error: {message: Out of order}}
    """)
    assert await said(path, "t/a#1.0") == "fine"
    failures: list[tuple[str, str, bool]] = []
    for visit in (2, 3):
        with pytest.raises(ProviderFailure) as caught:
            await said(path, f"t/a#{visit}.0")
        failures.append((caught.value.kind, caught.value.message, caught.value.retryable))
    assert failures == [
        ("RateLimited", "Not today", False),
        (FailureType.PROVIDER_UNAVAILABLE, "Out of order", False),
    ]


@pytest.mark.parametrize(
    ("waited", "answer"), [(0.0, None), (4.9, None), (5.0, "late"), (6.0, "late")]
)
async def test_a_batch_is_answered_once_it_has_taken_its_time(
    tmp_path: Path, waited: float, answer: str | None
) -> None:
    script = tmp_path / "script.yml"
    script.write_text("answers: [{task: ask, answer: late, batch_seconds: 5}]")
    request = asked("work/ask#1.0")
    batch = StartedBatch(id="b", custom_id="c", waited=waited)
    found = await ScriptedProvider(script).collect(request, batch)
    assert (None if found is None else found.text) == answer
