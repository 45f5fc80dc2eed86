"""Teams of type `loop`, `approval` and `chat`: their section becomes steps."""

from collections.abc import Mapping

from pydantic import BaseModel, JsonValue

from coterie.dsl.json_schema.schema_parts import has, has_key, none_of
from coterie.dsl.model.document import ApprovalSection, ChatSection, LoopSection
from coterie.dsl.normalise.form_context import Here
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import Json

_MESSAGE = "message"
_ANSWER = "answer"
_REPLY = "reply"

_OF_THE_WAIT = ("schema", "deadline", "while_busy")
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
    tasks = entries.get("tasks") or Node([], section.mark)
    steps = [_wait(section, chat), *tasks.items()]
    if "persona_key" in chat:
        steps.append(_answer(team, section, chat))
    steps.append(_reply(section, chat, persona))
    rest = {key: item for key, item in entries.items() if key != "chat"}
    routing = _routing(team, section, chat, entries.get("routing"))
    return node.with_value({**rest, "tasks": tasks.with_value(steps), "routing": routing})


def _wait(section: Node, chat: Mapping[str, Node]) -> Node:
    entries = {key: chat[key] for key in _OF_THE_WAIT if key in chat}
    return _step(section, "wait", _MESSAGE, message=_at(section, True), **entries)


def _answer(team: str, section: Node, chat: Mapping[str, Node]) -> Node:
    """Return the task of the agent that answers: the message, after the earlier turns."""
    named = chat["persona_key"]
    window = {key: chat[key] for key in WINDOW if key in chat}
    return named.with_value(
        {
            "name": _at(named, _ANSWER),
            "persona_key": named,
            "input": _at(named, f"{{{{ tasks.{_MESSAGE}.data }}}}"),
            "conversation": _at(named, team),
            **window,
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


def _routing(team: str, section: Node, chat: Mapping[str, Node], routing: Node | None) -> Node:
    """Return the routes: the team's own, then the ends of the conversation, then the team again."""
    node = routing or Node({}, section.mark)
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


SHORT_TEAMS: dict[str, type[BaseModel]] = {
    "loop": LoopSection,
    "approval": ApprovalSection,
    "chat": ChatSection,
}
"""`{type of a team that is short for steps: its section}`."""


@rule("E102")
def section_missing(kind: str) -> ProblemText:
    return ProblemText(
        f"the key {kind!r} is missing: the team is of type {kind!r}",
        fix=f"add `{kind}:`, or remove `type`",
    )


def section_as_steps(node: Node, team: str, here: Here) -> Node:
    """Turn the section of a team of type `loop`, `approval` or `chat` into steps of its tasks."""
    entries = node.entries()
    kind = str(entries["type"].value)
    section = entries.get(kind)
    if section is None:
        here.problems.report(section_missing(kind), Place(node.at, (*here.path_of(node), kind)))
        return node
    known_keys = {field.alias or name for name, field in SHORT_TEAMS[kind].model_fields.items()}
    if not isinstance(section.value, dict) or not known_keys.issuperset(section.value):
        return node  # the models refuse it in place
    if kind == "chat":
        return _as_chat(node, team, section, here)
    tasks = entries.get("tasks") or Node([], node.mark)
    base_entries = {"type": Node(kind, section.mark), "name": Node(kind, section.mark)}
    if kind == "loop":
        loop = section.with_value({**base_entries, **section.value, "body": tasks})
        tasks = tasks.with_value([loop])
    else:
        approval = section.with_value({**base_entries, **section.value})
        tasks = tasks.with_value([*tasks.items(), approval])
    rest = {key: item for key, item in entries.items() if key != kind}
    return node.with_value({**rest, "tasks": tasks})


@rule("E102")
def chat_without_reply() -> ProblemText:
    return ProblemText(
        "the section `chat` has no reply: neither `persona_key` nor `reply`",
        fix='add `persona_key:` with the persona that answers, or `reply: "{{ ... }}"`',
    )


@rule("E107")
def window_without_persona(key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` limits what the persona of the section `chat` remembers, and it names none",
        fix=f"add `persona_key:`, or move `{key}:` to the task whose agent answers",
    )


CHAT_KEYS: list[Json] = [
    {"anyOf": [has_key("persona_key"), has("reply")]},
    {"if": {"not": has_key("persona_key")}, "then": none_of(*WINDOW)},
]
"""The same, as JSON Schema for editors."""


def _as_chat(node: Node, team: str, section: Node, here: Here) -> Node:
    chat = section.entries()
    if "reply" not in chat and "persona_key" not in chat:
        here.problems.report(
            chat_without_reply(), Place(section.at, (*here.path_of(section), "reply"))
        )
        return node
    named = chat.get("persona_key")
    for window in (key for key in WINDOW if named is None and key in chat):
        at = chat[window]
        details = window_without_persona(window)
        here.problems.report(details, Place(at.at, here.path_of(at)))
    persona = named and here.value_at("llm_config", "personas", str(named.value))
    return chat_team(team, node, section, persona or None)
