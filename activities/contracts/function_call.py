"""A call of a tool function: what the worker is asked, and what it answers."""

from pydantic import JsonValue

from coterie.activities.contracts.suspended_code import CodeTurn, SuspendedCode
from coterie.dsl.model.agent_skills import SkillExcerpt
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.model.memory_terms import MemoryOwner
from coterie.dsl.model.tools.asked_input import GivenInput
from coterie.dsl.values import Frozen


class FunctionRequest(Frozen):
    """One call of a tool function."""

    skill: str
    input: JsonValue = None
    key: str
    """Identifies this call permanently, `run/execution/step#count`, so a function can recognise a
    repeat. A later run with the same id has another `execution`."""
    listing: str | None = None
    """Of a tool of an MCP server: the digest of the tool that the plan was compiled with."""
    keep: bool = False
    """Store the result, if it is not small, and return its name instead: a model reads it."""
    given_input: GivenInput | None = None
    """A person's answers to what the same call has asked."""
    skill_excerpt: SkillExcerpt | None = None
    """Of a call that reads an agent skill: what the run's plan has of it."""
    untrusted: bool = False
    """Whether the run has met text of others, which what it writes may repeat."""
    code: CodeTurn | None = None
    """The part of a program that calls tools; only its first part has an `input`."""
    memory: MemoryOwner | None = None
    """Of a tool function with a memory: whose. Default: the project's."""


class KeptResult(Frozen):
    """A result that the worker stored."""

    name: str
    """Of the stored value."""
    size: int
    """Bytes of JSON."""
    preview: str
    """Its beginning, for people."""


class FunctionResult(Frozen):
    """What a tool function returned, checked against its output schema."""

    data: JsonValue = None
    text: str = ""
    """What a tool of an MCP server says beside its structured content."""
    kept: KeptResult | None = None
    """Where the result is, if the request says `keep`; then there is no `data`."""
    labels: tuple[KeptLabel, ...] = ()
    """What it brought beside the labels of its function: a file of a run keeps its labels."""
    seconds: float = 0.0
    """Working time of its attempts."""
    suspended: SuspendedCode | None = None
    """Set while a program waits for its calls; there is no result yet."""
    request: FunctionRequest | None = None
    """Of a local activity: what was asked. Temporal records the arguments of activities only."""
