"""`Files.read`: read a text file of the project, or some of its lines."""

from hashlib import sha256

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.text_files import count_lines, decoded, readable_file
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented

MAX_FILE_BYTES = 20_000_000
"""Size of a file from which lines can be read."""


class FileReadInput(Documented):
    """Which lines of which file."""

    path: str = Field(min_length=1, max_length=4096, json_schema_extra={KIND: "path"})
    """Relative to the workspace."""
    start_line: int = Field(default=1, ge=1)
    """The first line to read, from 1."""
    end_line: int | None = Field(default=None, ge=1)
    """The last line to read, included; null for the end of the file."""
    max_bytes: int = Field(default=100_000, ge=1, le=1_000_000)
    """Bytes of text to return; the text ends at a line end before."""


class FileText(Documented):
    """The text that was read."""

    path: str
    """Relative to the workspace."""
    text: str
    """The lines, with their line ends."""
    start_line: int
    """The first line of `text`, from 1."""
    end_line: int
    """The last line of `text`; before `start_line` if `text` has no line."""
    total_lines: int
    """Lines of the whole file."""
    bytes: int
    """Size of the whole file."""
    sha256: str
    """Hash of the whole file, for `if_sha256` of `Files.write` and `Files.edit`."""
    cut: bool
    """Whether `max_bytes` ended the text early; continue with `start_line: end_line + 1`."""


async def read_text(value: FileReadInput, context: FunctionContext) -> FileText:
    """Read lines of a file.

    Raises:
        FunctionRefusal: The path leads outside the project, or names a file with secrets; or the
            range of lines is empty.
        FunctionFailure: It is not a text file, or its first line exceeds `max_bytes`.
    """
    if value.end_line is not None and value.end_line < value.start_line:
        raise FunctionRefusal(
            f"end_line ({value.end_line}) is before start_line ({value.start_line})"
        )
    content = await FUNCTION_THREADS.finish(
        readable_file, context.workspace, value.path, MAX_FILE_BYTES
    )
    text = decoded(content)
    if text is None:
        raise FunctionFailure(f"{value.path!r} is not UTF-8 text")
    total = count_lines(text)
    if value.start_line > max(total, 1):
        raise FunctionFailure(
            f"{value.path!r} has {total} lines, and start_line is {value.start_line}"
        )
    chosen, count, cut = _lines(text, value)
    return FileText(
        path=value.path,
        text=chosen,
        start_line=value.start_line,
        end_line=value.start_line + count - 1,
        total_lines=total,
        bytes=len(content),
        sha256=sha256(content).hexdigest(),
        cut=cut,
    )


def _lines(text: str, value: FileReadInput) -> tuple[str, int, bool]:
    """Return the wanted lines that fit, their number, and whether some did not fit."""
    lines = text.split("\n")
    ends = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    selection = ends[value.start_line - 1 : value.end_line]
    size = 0
    for number, line in enumerate(selection):
        size += len(line.encode())
        if size > value.max_bytes:
            if number == 0:
                raise FunctionFailure(
                    f"line {value.start_line} of {value.path!r} has {size} bytes, more than "
                    f"max_bytes ({value.max_bytes})"
                )
            return "".join(selection[:number]), number, True
    return "".join(selection), len(selection), False


READ = ToolFunction[FileReadInput, FileText](
    name="Files.read",
    description="Reads a text file of the project, or a range of its lines.",
    effect="read",
    input=TypeAdapter(FileReadInput),
    output=TypeAdapter(FileText),
    run=read_text,
    timeout=30.0,
    labels=("private",),
    errors={
        FailureType.FUNCTION_REFUSED: "the path leads outside the workspace, or names a file that "
        "may contain secrets; or `end_line` is before `start_line`",
        FailureType.FUNCTION_FAILED: "no such file, it is not UTF-8 text, `start_line` is after "
        "its end, or a line exceeds `max_bytes`",
    },
)
