"""Teams of type `loop`, `approval` and `chat`: their section becomes steps."""

from pydantic import BaseModel

from coterie.dsl.json_schema.schema_parts import has, has_key, none_of
from coterie.dsl.model.document import ApprovalSection, ChatSection, LoopSection
from coterie.dsl.normalise.chat_teams import WINDOW, chat_team
from coterie.dsl.normalise.here import Here
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import Json

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
    known = {field.alias or name for name, field in SHORT_TEAMS[kind].model_fields.items()}
    if not isinstance(section.value, dict) or not known.issuperset(section.value):
        return node  # the models refuse it in place
    if kind == "chat":
        return _as_chat(node, team, section, here)
    tasks = entries.get("tasks") or Node([], node.mark)
    made = {"type": Node(kind, section.mark), "name": Node(kind, section.mark)}
    if kind == "loop":
        loop = section.with_value({**made, **section.value, "body": tasks})
        tasks = tasks.with_value([loop])
    else:
        approval = section.with_value({**made, **section.value})
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
