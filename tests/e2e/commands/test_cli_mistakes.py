"""A person's mistake costs them one sentence and exit code 2; nothing is done, nothing is left."""

import json

import pytest

from tests.support.cli import sentence
from tests.support.project import Project

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
    "a question where nothing ever ran": (("status", "x"), "nothing has run"),
    "a history that is not there": (("replay", "no.json"), "no.json"),
    "a history that is none": (("replay", "coterie.yml"), "is not the history"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_one_sentence_says_what_is_wrong(quiet_desk: Project, what: str) -> None:
    arguments, shown = MISTAKES[what]
    done = quiet_desk.coterie(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert shown in sentence(done)
    assert not (quiet_desk.folder / ".coterie" / "temporal.db").exists(), "nothing was started"


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
    quiet_desk: Project, name: str, value: str, message: str
) -> None:
    quiet_desk.environment[name] = value
    done = quiet_desk.coterie("plan", "chore")
    assert done.returncode == 2
    assert name in sentence(done)
    assert message in done.stderr


@pytest.mark.parametrize("verb", ["run", "start", "status", "pending", "approve", "result"])
def test_an_unreachable_server_is_said_to_be_one(quiet_desk: Project, verb: str) -> None:
    quiet_desk.environment["COTERIE_ADDRESS"] = "127.0.0.1:1"
    arguments = {"run": ["chore"], "start": ["chore"], "pending": []}.get(verb, ["some-run"])
    done = quiet_desk.coterie(verb, *arguments)
    assert done.returncode == 2
    assert "no Temporal server answers at 127.0.0.1:1 (Connection refused)" in sentence(done)
    assert not list(quiet_desk.folder.glob(".coterie/runs/*")), "a run that never was"
    assert verb == "run" or not (quiet_desk.folder / ".coterie").exists()


def test_a_missing_key_is_named_before_anything_starts(quiet_desk: Project) -> None:
    done = quiet_desk.coterie("run", "article", "--model", "openai/some-model")
    assert done.returncode == 2
    assert "OPENAI_API_KEY, which is not set" in sentence(done)
    assert not (quiet_desk.folder / ".coterie").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {approval: x, decision: maybe, by: ann}", "d.yml:1: decision"),
        ("# first\n- {approval: x, decision: approve}", "d.yml:2: by"),
        ("answers: []", "list of decisions"),
        ("- {decision: amend, by: ann}", "`decision: amend` needs `updates`"),
        ("- {decision: skip, by: ann, payload: 1}", "`payload` goes with `decision: approve`"),
        ("- {approval: x, decision: approve, by: ann}\n- {approval: [", "d.yml:3:1"),
    ],
)
def test_a_wrong_decision_is_reported_with_its_line(
    quiet_desk: Project, text: str, message: str
) -> None:
    (quiet_desk.folder / "d.yml").write_text(text + "\n")
    done = quiet_desk.coterie("run", "article", "--decisions", "d.yml")
    assert done.returncode == 2
    assert message in sentence(done)


def test_a_wrong_call_shows_how_it_goes(quiet_desk: Project) -> None:
    for arguments in ((), ("frobnicate",), ("status",)):
        done = quiet_desk.coterie(*arguments)
        assert done.returncode == 2
        assert "usage: coterie" in done.stderr


def test_help_and_version_are_no_mistakes(quiet_desk: Project) -> None:
    assert "validate" in quiet_desk.coterie("--help").stdout
    assert "--decisions" in quiet_desk.coterie("run", "--help").stdout
    version = quiet_desk.coterie("--version")
    assert version.returncode == 0
    assert version.stdout.startswith("coterie ")


def test_state_keeps_itself_out_of_version_control(quiet_desk: Project) -> None:
    quiet_desk.coterie("server")
    report = json.loads(quiet_desk.coterie("server", "--status", "--json").stdout)
    assert report["running"] is True
    assert (quiet_desk.folder / ".coterie" / ".gitignore").read_text() == "*\n"
