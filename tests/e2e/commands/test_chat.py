"""A session at the terminal: replies, the way back to it, and a refusal that ends it."""

import yaml

from tests.support.project import Project, until

ECHO = r"""
orchestration:
  entry_team: talk
  teams:
    talk:
      tasks:
        - {name: next, type: wait, message: true, schema: {type: string, maxLength: 20}}
        - {name: rude, type: fail, when: "{{ tasks.next.data == 'boo' }}", message: be polite}
        - {name: say, type: reply, value: "you said {{ tasks.next.data }}"}
      routing: {default: talk}
"""


def test_a_session_is_left_open_and_returned_to(desk: Project) -> None:
    (desk.folder / "echo.yml").write_text(ECHO)
    (desk.folder / "first.txt").write_text("hello\n\x1b[31mred\n")
    (desk.folder / "second.txt").write_text("again\n")
    (desk.folder / "rude.txt").write_text("boo\n")
    (desk.folder / "long.txt").write_text("x" * 21)
    begun = desk.coterie("chat", "echo.yml", "--id", "talk", "--script", "first.txt")
    assert begun.returncode == 0, begun.stderr
    assert begun.stdout == "you said hello\nyou said \\u001b[31mred\n"
    again = desk.coterie("chat", "--session", "talk", "--script", "second.txt")
    assert again.stdout.splitlines() == [
        "> hello",
        "you said hello",
        "> \\u001b[31mred",
        "you said \\u001b[31mred",
        "you said again",
    ]
    forked = desk.coterie("fork", "talk", "--message", "2", "--id", "fork")
    assert forked.stdout == "fork\n", forked.stderr
    other = desk.coterie("chat", "--session", "fork", "--script", "second.txt")
    assert other.stdout.splitlines() == ["> hello", "you said hello", "you said again"]
    latest = desk.coterie("chat", "--session", "talk", "--history", "1", "--script", "second.txt")
    assert latest.stdout.splitlines() == ["> again", "you said again", "you said again"]
    assert "2 earlier messages; to print more: --history 3" in latest.stderr
    desk.coterie("pause", "talk", "--by", "ops", "--why", "lunch", "--no-wait")
    waiting = desk.begin("chat", "--session", "talk", "--script", "second.txt")
    until(lambda: "paused by ops: lunch" in desk.log("chat") or None, "the pause is said")
    desk.coterie("resume", "talk", "--no-wait")
    assert waiting.wait(60) == 0
    assert desk.log("chat").splitlines()[-2:] == [
        "you said again",
        "the session talk stays open; return to it: coterie chat --session talk",
    ]
    refused = desk.coterie("chat", "--session", "talk", "--script", "long.txt")
    assert refused.returncode == 1
    assert "the message has 21 characters" in refused.stderr
    unanswered = desk.coterie("chat", "--session", "talk", "--script", "rude.txt")
    assert unanswered.returncode == 1
    assert "without a reply to this one: task 'rude' failed" in unanswered.stderr
    assert "for every decision and its cause: coterie why talk" in unanswered.stderr
    ended = desk.coterie("chat", "echo.yml", "--id", "never", "--script", "long.txt")
    assert ended.returncode == 1
    assert "its first message was refused" in desk.coterie("status", "never").stdout


ONCE = r"""
orchestration:
  entry_team: talk
  teams:
    talk:
      type: chat
      chat: {reply: "you said {{ tasks.message.data }}", until: "{{ tasks.message.data == 'bye' }}"}
"""


def test_a_session_that_has_ended_is_recorded_as_a_test(desk: Project) -> None:
    (desk.folder / "once.yml").write_text(ONCE)
    (desk.folder / "script.txt").write_text("hello\nbye\n")
    done = desk.coterie("chat", "once.yml", "--id", "spoken", "--script", "script.txt")
    assert (done.returncode, done.stdout) == (0, "you said hello\nyou said bye\n"), done.stderr
    assert "the session spoken has ended" in done.stderr
    output = desk.coterie("record", "spoken", "-o", "once.test.yml", "--team", "once.yml")
    assert output.returncode == 0, output.stderr
    assert "2 messages" in output.stdout
    case = yaml.safe_load((desk.folder / "once.test.yml").read_text())["cases"][0]
    assert [(one["message"], one["reply"]) for one in case["messages"]] == [
        ("hello", "you said hello"),
        ("bye", "you said bye"),
    ]
    assert desk.coterie("test", "once.test.yml").returncode == 0
    (desk.folder / "once.yml").write_text(ONCE.replace("you said", "I heard"))
    changed = desk.coterie("test", "once.test.yml")
    assert 'the reply to "hello" is "I heard hello", and not' in changed.stdout
