"""A person's mistake costs them one sentence and exit code 2; nothing is done, nothing is left."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from coterie.cli import main
from tests.support.cli import DESK

MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "a context that is no JSON": (("run", "chore", "--context", "{topic: rain"), "not JSON"),
    "a context that is no object": (("run", "chore", "--context", "[1]"), "JSON object"),
    "a context file that is not there": (("run", "chore", "--context", "@no.yml"), "no.yml"),
    "a setting without a value": (("run", "chore", "--set", "topic"), "key=value"),
    "a setting through a value": (
        ("run", "chore", "--context", '{"a": 1}', "--set", "a.b=2"),
        "a.b=2",
    ),
    "a model without its provider": (("run", "chore", "--model", "gpt"), "provider/model"),
    "a workspace that is not there": (("run", "chore", "--workspace", "nowhere"), "not a folder"),
    "decisions that are not there": (("run", "article", "--decisions", "no.yml"), "no.yml"),
    "nothing to run": (("run",), "name a team or a file"),
    "a run and a resumption": (
        ("run", "chore", "--resume", "x"),
        "'chore' cannot be used with --resume",
    ),
    "a run that was never begun": (("run", "--resume", "x"), "was not started"),
    "nothing to resume": (("run", "--resume"), "no run was started"),
    "a reason that no run takes": (
        ("pause", "x", "--why", "q" * 10_001),
        "10,001 characters; at most 10,000 are allowed",
    ),
    "a comment that no run takes": (
        ("approve", "x", "--comment", "q" * 10_001),
        "10,001 characters; at most 10,000 are allowed",
    ),
    "a task that no plan has": (
        ("skip", "x", "q" * 501),
        "501 characters; at most 500 are allowed",
    ),
    "a change that is no JSON": (("approve", "x", "--payload", "NaN"), "is not a JSON number"),
    "neither one run nor many": (("cancel",), "name a RUN, or choose many with --open"),
    "one run and many": (("retry", "x", "--failed"), "choose many with --failed"),
    "a team for one run": (("cancel", "x", "--team", "a"), "--team works with --open only"),
    "a wait for many runs": (("cancel", "--open", "--no-wait"), "--no-wait works for one RUN only"),
    "a pattern for one run": (
        ("reject", "x", "--request", "pay/*"),
        "--request works with --waiting only",
    ),
    "one payload for many requests": (
        ("approve", "--waiting", "--payload", "1"),
        "--payload works for one RUN only",
    ),
    "a question where nothing ever ran": (("status", "x"), "nothing has run"),
    "a history that is not there": (("replay", "no.json"), "no.json"),
    "a history that is none": (("replay", "coterie.yml"), "is not the history"),
}


class Done(NamedTuple):
    """What a command came to."""

    code: int
    sentence: str
    """What it said of the mistake."""


Call = Callable[..., Done]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project where nothing ran yet."""
    folder = tmp_path / "desk"
    shutil.copytree(DESK, folder, ignore=shutil.ignore_patterns(".coterie"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def call(desk: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in the project."""

    def called(*arguments: str) -> Done:
        try:
            code = main(arguments)
        except SystemExit as left:  # the parser refuses the words themselves
            code = cast("int", left.code)
        output, sentence = capsys.readouterr()
        assert "Traceback" not in output + sentence, sentence
        return Done(code, sentence)

    return called


@pytest.mark.parametrize("what", MISTAKES)
def test_one_sentence_says_what_is_wrong(desk: Path, call: Call, what: str) -> None:
    arguments, shown = MISTAKES[what]
    done = call(*arguments)
    assert done.code == 2, done.sentence
    assert shown in done.sentence
    assert not (desk / ".coterie" / "temporal.db").exists(), "nothing was started"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("COTERIE_ADDRESS", "somewhere", "host:port"),
        ("COTERIE_TLS", "perhaps", "true and false"),
        ("COTERIE_TLS_CERT", "c.pem", "belong together"),
        ("COTERIE_CONFIG", "no-such-folder", "not a folder"),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, call: Call, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    done = call("plan", "chore")
    assert done.code == 2
    assert name in done.sentence
    assert message in done.sentence


@pytest.mark.parametrize("verb", ["run", "start", "status", "pending", "approve", "result"])
def test_an_unreachable_server_is_said_to_be_one(
    monkeypatch: pytest.MonkeyPatch, desk: Path, call: Call, verb: str
) -> None:
    monkeypatch.setenv("COTERIE_ADDRESS", "127.0.0.1:1")
    arguments = {"run": ["chore"], "start": ["chore"], "pending": []}.get(verb, ["some-run"])
    done = call(verb, *arguments)
    assert done.code == 2
    assert "no Temporal server answers at 127.0.0.1:1 (Connection refused)" in done.sentence
    assert not list(desk.glob(".coterie/runs/*")), "a run that never was"
    assert verb == "run" or not (desk / ".coterie").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {approval: x, decision: maybe, by: ann}", "d.yml:1:27: 'decision' is 'maybe'"),
        ("# first\n- {approval: x, decision: approve}", "d.yml:2:3: the key 'by' is missing"),
        ("answers: []", "add `decisions:`"),
        ("approve", "list of decisions"),
        ("", "list of decisions"),
        ("- {step: x, decision: approve, by: ann}", "did you mean 'approval'?"),
        ("- {decision: amend, by: ann, set: {a: 1}}", "did you mean 'updates'?"),
        ("- {decision: approve, by: ann}\n- {decision: skip, by: ann, by: ben}", "on line 2"),
        ("- {decision: amend, by: ann}", "`decision: amend` needs `updates`"),
        ("- {decision: skip, by: ann, payload: 1}", "`payload` goes with `decision: approve`"),
        ("- {approval: x, decision: approve, by: ann}\n- {approval: [", "d.yml:3:1"),
    ],
)
def test_a_wrong_decision_is_reported_with_its_line(
    desk: Path, call: Call, text: str, message: str
) -> None:
    (desk / "d.yml").write_text(text + "\n")
    done = call("run", "article", "--decisions", "d.yml")
    assert done.code == 2
    assert message in done.sentence
