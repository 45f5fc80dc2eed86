"""The tools for runs, beside those of the teams: their arguments, and how clients see them."""

from collections.abc import Iterable
from typing import Annotated, TypeVar

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from coterie.dsl.errors import listed
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.values import Documented, Frozen, Json
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError
from coterie.mcp_server.run_reports import report_schema

_MAX_PROBLEMS_LENGTH = 1_000

_RunId = Annotated[str, Field(min_length=1, max_length=200)]


class StartArguments(Documented):
    """The arguments of `start`."""

    team: str
    """The tool of the team."""
    context: Json = Field(default_factory=dict[str, JsonValue])
    """The arguments of that tool."""


class StatusArguments(Documented):
    """The arguments of `status`."""

    run: _RunId | None = None
    """The run's id. Default: the latest runs, briefly."""


class AnswerArguments(Documented):
    """The arguments of `answer`."""

    run: _RunId
    """The run's id."""
    message: JsonValue
    """The message to a session, or the answer to a question."""
    message_id: str | None = Field(default=None, min_length=1, max_length=100)
    """Of a message that was sent before: the run works on it once, and answers again."""
    request: str | None = Field(default=None, min_length=1, max_length=500)
    """The id of the question in `approvals` that the message answers. Default: that of `digest`."""
    digest: str | None = Field(default=None, min_length=1, max_length=200)
    """The `digest` of the question as your user has seen it. An answer to a question needs it."""


class ResultArguments(Documented):
    """The arguments of `result`."""

    run: _RunId
    """The run's id."""
    path: str | tuple[str, ...] = ""
    """The part of the result to return, such as `report.sections`. Default: all."""
    start: int = Field(default=0, ge=0)
    """The character, item or key at which the page starts."""


READS_ONLY: Json = {"readOnlyHint": True}
WRITES: Json = {"readOnlyHint": False}
"""Whether a tool changes something, as MCP writes it."""

T = TypeVar("T", bound=Frozen)


def run_tools(teams: Iterable[str], wait: float) -> list[ServerTool]:
    """Return the tools for runs.

    Args:
        teams: The tools that start a run.
        wait: Seconds that a call waits for a run.
    """
    bound = f"at most {wait:g} s"
    report = report_schema()
    return [
        ServerTool(
            name="start",
            description="Starts a durable run of a team and returns its id at once.",
            input_schema=_schema(StartArguments, team=sorted(teams)),
            output_schema=report,
            hints=WRITES,
        ),
        ServerTool(
            name="status",
            description="Shows where a run stands and what waits for a person; without a run, "
            "lists the latest runs that MCP clients started.",
            input_schema=_schema(StatusArguments),
            hints=READS_ONLY,
        ),
        ServerTool(
            name="answer",
            description="Sends a message to a run that awaits one (state `awaiting_message`) and "
            "returns its reply, or answers a question in `approvals`, named by its `digest`; "
            f"waits {bound}. Ask your user for the answer to a question. Approvals are for people: "
            "this tool decides none.",
            input_schema=_schema(AnswerArguments),
            output_schema=report,
            hints=WRITES,
        ),
        ServerTool(
            name="result",
            description=f"Waits for the end of a run, {bound}, and returns its result; also of "
            "runs that earlier clients started.",
            input_schema=_schema(ResultArguments),
            output_schema=report,
            hints=READS_ONLY,
        ),
    ]


def read_arguments(model: type[T], arguments: Json) -> T:
    """Return the arguments of a call, checked.

    Raises:
        CommandError: They do not fit.
    """
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc'])) or 'the arguments'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)
        ]
        fields = listed(model.model_fields)
        text = shortened_text(visible("; ".join(problems)), _MAX_PROBLEMS_LENGTH)
        raise CommandError(f"the arguments do not fit: {text}; allowed are {fields}") from None


def _schema(model: type[Frozen], team: list[str] | None = None) -> Json:
    schema: Json = TypeAdapter(model).json_schema()
    properties = schema["properties"]
    if team is not None and isinstance(properties, dict):
        properties["team"] = {"type": "string", "enum": [*team], "description": "The team."}
    return schema
