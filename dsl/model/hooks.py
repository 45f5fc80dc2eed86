"""Hooks: what a run checks, changes or stops before and after runs, turns, model and tool calls."""

from typing import Literal, get_args

from pydantic import Field, JsonValue

from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.values import Frozen

HookPoint = Literal[
    "before_run",
    "after_run",
    "before_turn",
    "after_turn",
    "before_model_call",
    "after_model_call",
    "before_tool_call",
    "after_tool_call",
]
"""Where a run asks its hooks."""

HookDecision = Literal["continue", "modify", "retry", "fail", "reject"]
HOOK_DECISIONS: tuple[HookDecision, ...] = get_args(HookDecision)

RUN_POINTS: frozenset[HookPoint] = frozenset({"before_run", "after_run"})
"""Only the document has these."""

TOOL_POINTS: frozenset[HookPoint] = frozenset({"before_tool_call", "after_tool_call"})

DECISIONS_AT: dict[HookPoint, tuple[HookDecision, ...]] = {
    "before_run": ("continue", "modify", "fail", "reject"),
    "after_run": ("continue", "modify", "fail", "reject"),
    "before_turn": ("continue", "modify", "fail", "reject"),
    "after_turn": ("continue", "fail", "reject"),
    "before_model_call": ("continue", "modify", "fail", "reject"),
    "after_model_call": HOOK_DECISIONS,
    "before_tool_call": ("continue", "modify", "fail", "reject"),
    "after_tool_call": HOOK_DECISIONS,
}
"""What a hook may decide at each point."""

_OF_AGENT = ("agent", "task", "turn")
FACTS_AT: dict[HookPoint, tuple[str, ...]] = {
    "before_run": (),
    "after_run": ("output",),
    "before_turn": _OF_AGENT,
    "after_turn": (*_OF_AGENT, "answer", "calls"),
    "before_model_call": (*_OF_AGENT, "model", "inputs"),
    "after_model_call": (*_OF_AGENT, "model", "answer", "calls"),
    "before_tool_call": (*_OF_AGENT, "tool", "arguments"),
    "after_tool_call": (*_OF_AGENT, "tool", "arguments", "result", "text", "error"),
}
"""The names that the templates of a hook read, besides `context`, `settings` and `run`."""

CHECK = "check"
"""The name of what the hook's own tool function returned."""

MAX_HOOK_RETRIES = 10


class HookSection(Frozen):
    """A hook as a document declares it."""

    on: HookPoint
    """The point at which the run asks it."""
    name: str | None = Field(default=None, max_length=60)
    """How the trail calls it. Default: its point and its number in the list."""
    tool: str | None = None
    """At a tool call: the name of the tool, with `*` for any characters. Default: every tool."""
    skill: str | None = None
    """`Name.method` of a tool function to call first; its result is `check`."""
    input: JsonValue = None
    """The tool function's input: a template."""
    when: Condition | None = None
    """The hook decides only if this holds. The function is called after it, unless it reads
    `check`.
    """
    decide: str
    """`continue`, `modify`, `retry`, `fail` or `reject`, or a template for one of these."""
    value: JsonValue = None
    """With `modify`: a template for what changes."""
    message: str = ""
    """Why, for the model and for people: a template."""
    max_retries: int | None = Field(default=None, ge=1, le=MAX_HOOK_RETRIES)
    """With `retry`: how often at most; then the hook fails. Default: 1."""


class Hook(HookSection):
    """A hook of a plan: with its name and the terms of its tool function."""

    name: str | None = None
    terms: FunctionTerms | None = None
    """Of a call of its tool function; set by the compiler."""

    @property
    def label(self) -> str:
        """How the trail calls it."""
        return self.name or self.on

    @property
    def retries(self) -> int:
        """How often it may ask for a retry at one place."""
        return self.max_retries or 1
