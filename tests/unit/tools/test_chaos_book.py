"""The bookkeeper of the chaos finds what is wrong; else its silence would prove nothing."""

from pathlib import Path

import pytest

from tests.chaos.book import Call, Unknown, check_calls, check_ledger, unknowns

KILLED = (12.0,)


def turn(attempts: int = 1, completed: float | None = 15.0) -> Call:
    return Call("run_agent", "0001.a.b", 10.0, attempts, completed, completed or 16.0)


@pytest.mark.parametrize(
    ("call", "asked", "kills", "part"),
    [
        (turn(), (10.0,), (), None),
        (turn(2), (10.0, 13.0), KILLED, None),
        (turn(2), (13.0,), KILLED, None),
        (turn(1), (10.0, 13.0), KILLED, "called the model 2 times in 1 attempts"),
        (
            turn(2),
            (10.0, 13.0),
            (),
            "called the model 2 times, but only 0 kills happened meanwhile",
        ),
        (
            turn(2),
            (10.0, 16.0),
            KILLED,
            "called the model again 1.00 s after its result was recorded",
        ),
        (turn(1, None), (10.0,), (), "has no result"),
    ],
)
def test_a_call_that_is_repeated_without_need_is_found(
    call: Call, asked: tuple[float, ...], kills: tuple[float, ...], part: str | None
) -> None:
    wrong = check_calls("r1", "part", [call], {"part/0001.a.b": asked}, kills)
    assert len(wrong) == (part is not None)
    assert all(part in line for line in wrong if part)


def test_a_release_that_is_missing_doubled_or_strange_is_found(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.txt"
    ledger.write_text("r1/a/release\nr2/a/release\nr2/b/release\nr9/a/release\n")
    assert check_ledger(["r1"], tmp_path / "none") == ["r1: released 0 times"]
    assert check_ledger(["r1", "r2", "r3"], ledger) == [
        "r2: released 2 times",
        "r3: released 0 times",
        "the ledger has 'r9/release'",
    ]


def function(method: str, failure: str | None = None, code: int = 0) -> Call:
    return Call(
        "call_function",
        "x",
        0.0,
        1,
        None if failure else 1.0,
        1.0,
        failure,
        f'{{"skill":"CommandRunner.{method}"}}',
        f'{{"data":{{"exit_code":{code}}}}}',
    )


@pytest.mark.parametrize(
    ("after", "became"),
    [
        ([], "nothing"),
        ([function("run", code=0)], "had completed"),
        ([function("run", code=1), function("run_once")], "repeated"),
        ([function("run", code=7)], "accepted by a person"),
        ([function("run", code=7), function("run_once")], "rejected by a person and repeated"),
        ([function("run_once")], "nothing"),
    ],
)
def test_ledger_resolves_an_unknown_outcome_from_the_next_entry(
    after: list[Call], became: str
) -> None:
    lost = function("run_once", "timed out")
    assert unknowns("r1", [lost, *after]) == [Unknown("r1", became)]
