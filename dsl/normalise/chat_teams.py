"""Teams of type `chat`: a message, the tasks that work on it, the reply, and the next message.

Converts such a team into its parts: a `wait` for a message, the tasks, a `reply`, and routes back
to the team. Each part has the position of what it is made of.
"""

from collections.abc import Mapping

from pydantic import JsonValue

from coterie.dsl.source.nodes import Node

_MESSAGE = "message"
_ANSWER = "answer"
_REPLY = "reply"

_OF_THE_WAIT = ("schema", "deadline")
WINDOW = ("conversation_turns", "conversation_characters")
"""The keys that bound what the persona remembers."""


def chat_team(team: str, node: Node, section: Node, persona: JsonValue) -> Node:
    """Return the team with the steps and routes of its conversation.

    Args:
        team: Its id.
        node: The team as written; its section `chat` has known keys only.
        section: That section.
        persona: The persona that it names, as the document defines it; None without one.
    """
    entries, chat = node.entries(), section.entries()
    written = entries.get("tasks") or Node([], section.mark)
    steps = [_wait(section, chat), *written.items()]
    if "persona_key" in chat:
        steps.append(_answer(team, section, chat))
    steps.append(_reply(section, chat, persona))
    rest = {key: item for key, item in entries.items() if key != "chat"}
    routing = _routing(team, section, chat, entries.get("routing"))
    return node.with_value({**rest, "tasks": written.with_value(steps), "routing": routing})


def _wait(section: Node, chat: Mapping[str, Node]) -> Node:
    given = {key: chat[key] for key in _OF_THE_WAIT if key in chat}
    return _step(section, "wait", _MESSAGE, message=_at(section, True), **given)


def _answer(team: str, section: Node, chat: Mapping[str, Node]) -> Node:
    """Return the task of the agent that answers: the message, after the earlier turns."""
    named = chat["persona_key"]
    given = {key: chat[key] for key in WINDOW if key in chat}
    return named.with_value(
        {
            "name": _at(named, _ANSWER),
            "persona_key": named,
            "input": _at(named, f"{{{{ tasks.{_MESSAGE}.data }}}}"),
            "conversation": _at(named, team),
            **given,
        }
    )


def _reply(section: Node, chat: Mapping[str, Node], persona: JsonValue) -> Node:
    at = chat.get("reply", chat.get("persona_key", section))
    value = chat.get("reply")
    if value is None:
        typed = isinstance(persona, dict) and persona.get("output_schema") is not None
        path = f"tasks.{_ANSWER}.data" if typed else f"tasks.{_ANSWER}.data.text"
        value = _at(at, f"{{{{ {path} }}}}")
    return _step(at, "reply", _REPLY, value=value)


def _routing(team: str, section: Node, chat: Mapping[str, Node], written: Node | None) -> Node:
    """Return the routes: the team's own, then the ends of the conversation, then the team again."""
    node = written or Node({}, section.mark)
    if not isinstance(node.value, dict):
        return node
    entries = node.entries()
    rules = entries.get("rules") or Node([], section.mark)
    idle = chat.get("deadline", section)
    ends = [
        _rule(idle, Node({"task": _at(idle, _MESSAGE), "status": _at(idle, "failure")}, idle.mark))
    ]
    if "until" in chat:
        ends.append(_rule(chat["until"], chat["until"]))
    default = entries.get("default") or _at(section, team)
    if not isinstance(rules.value, list):
        return node
    return node.with_value(
        {**entries, "rules": rules.with_value([*rules.items(), *ends]), "default": default}
    )


def _rule(at: Node, condition: Node) -> Node:
    return Node({"condition": condition, "next_team": Node(None, at.mark)}, at.mark)


def _step(at: Node, kind: str, name: str, **fields: Node) -> Node:
    return Node({"type": _at(at, kind), "name": _at(at, name), **fields}, at.mark)


def _at(node: Node, value: str | bool) -> Node:
    return Node(value, node.mark)
