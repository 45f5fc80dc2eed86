"""A session at the terminal: replies, the way back to it, and a refusal that ends it."""

from tests.support.project import Project

ECHO = r"""
orchestration:
  entry_team: talk
  teams:
    talk:
      tasks:
        - {name: next, type: wait, message: true, schema: {type: string, maxLength: 20}}
        - {name: say, type: reply, value: "you said {{ tasks.next.data }}"}
      routing: {default: talk}
"""


def test_a_session_is_left_open_and_returned_to(desk: Project) -> None:
    (desk.folder / "echo.yml").write_text(ECHO)
    (desk.folder / "first.txt").write_text("hello\n\x1b[31mred\n")
    (desk.folder / "second.txt").write_text("again\n")
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
    refused = desk.coterie("chat", "--session", "talk", "--script", "long.txt")
    assert refused.returncode == 1
    assert "the message has 21 characters" in refused.stderr
    ended = desk.coterie("chat", "echo.yml", "--id", "never", "--script", "long.txt")
    assert ended.returncode == 1
    assert "its first message was refused" in desk.coterie("status", "never").stdout
