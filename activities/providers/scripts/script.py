"""Read a file of scripted answers; each mistake is one sentence with file and line."""

from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from coterie.activities.contracts import FailureType, StopReason, TokenUsage
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.normalise.replacements import rest_of_text
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import Frozen, Json, JsonValue, Seconds, form_mismatch


class ScriptedError(Frozen):
    """A failure of a call, never retried."""

    type: str = Field(default=FailureType.PROVIDER_UNAVAILABLE, min_length=1)
    message: str


class ScriptedCall(Frozen):
    """A call that the model asks for."""

    tool: str = Field(min_length=1)
    arguments: Json | str = Field(default_factory=dict[str, JsonValue])
    """A mapping; or text that is sent as it is, to play a model that writes bad JSON."""


class ScriptedAnswer(Frozen):
    """One entry of a script; `scripted.py` explains its fields."""

    task: str = Field(min_length=1)
    visit: int | None = Field(default=None, ge=1)
    turn: int | None = Field(default=None, ge=1)
    reask: int | None = Field(default=None, ge=0)
    compaction: bool = False
    """Whether it is the summary that compacts a conversation, and no answer of the agent."""
    contains: str | tuple[str, ...] = ()
    """Texts that the prompt must have, all of them."""
    answer: JsonValue = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    error: ScriptedError | None = None
    stop_reason: StopReason = "end"
    seconds: Seconds = 0.0
    batch_seconds: Seconds = 0.0
    """How long its batch takes, if it is the answer of one."""
    usage: TokenUsage | None = None
    templates: bool = False
    """Fill `{{ ... }}` in the answer and in arguments with what the call contains."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of `contains`."""
        return (self.contains,) if isinstance(self.contains, str) else self.contains

    @model_validator(mode="after")
    def _one_of_two(self) -> "ScriptedAnswer":
        answers = "answer" in self.model_fields_set or bool(self.tool_calls)
        if answers is ("error" in self.model_fields_set):
            raise form_mismatch("answer", "an entry has an `answer`, `tool_calls` or an `error`")
        return self


def read_script(path: Path) -> tuple[ScriptedAnswer, ...]:
    """Read the answers of a script, in order.

    Raises:
        ProviderFailure: The file is missing, is not YAML, or has an invalid entry; not retried.
    """
    try:
        tree = read(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _refusal_failure(f"could not read the script {path}: {reason}") from None
    except InvalidDocument as error:
        first = error.problems[0]
        raise _refusal_failure(f"{path}:{first.line}: {first.message}") from None
    for key, node in tree.entries().items():
        if key != "answers":
            raise _refusal_failure(
                f"{path}:{node.at.line}: unknown key {key!r}; a script has `answers`"
            )
    answers = tree.child("answers")
    if answers is None or not isinstance(answers.value, list):
        raise _refusal_failure(
            f"{path}:{tree.mark.line}: a script needs `answers`, a list of entries"
        )
    return tuple(_entry(path, node) for node in answers.items())


def _entry(path: Path, node: Node) -> ScriptedAnswer:
    try:
        return ScriptedAnswer.model_validate(node.plain())
    except ValidationError as error:
        first = error.errors()[0]
        location = [part for part in first["loc"][:1] if isinstance(part, str)]
        message = first["msg"]
        if first["type"] == "extra_forbidden":
            message = _unknown_field(str(first["loc"][0]), node)
        what = f"{location[0]}: {message}" if location else message
        fields = ", ".join(ScriptedAnswer.model_fields)
        raise _refusal_failure(
            f"{path}:{node.find(location).at.line}: invalid entry, {what}; allowed fields: {fields}"
        ) from None


def _unknown_field(name: str, node: Node) -> str:
    """Say that an entry has no such field, and that it may be the end of a text with a comma."""
    value = node.find((name,))
    if value.value is None and len(name.split()) > 1:
        return f"no field has this name; {rest_of_text(name)}"
    return "no field has this name"


def _refusal_failure(message: str) -> ProviderFailure:
    return ProviderFailure(FailureType.PROVIDER_REFUSED, message, retryable=False)
