"""`Files.view`: store an image or a PDF document of the project, so that a model sees it."""

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.storage.blobs import BlobsUnusable
from coterie.activities.storage.media import MAX_MEDIA_BYTES, media_type
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.text_files import readable_file
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented


class FileViewInput(Documented):
    """Which file."""

    path: str = Field(min_length=1, max_length=4096, json_schema_extra={KIND: "path"})
    """Relative to the workspace: PNG, JPEG, GIF, WebP or PDF."""


class StoredFile(Documented):
    """A reference to the stored file. A model that gets it, as a result or input, sees the file."""

    stored_media: str
    """The name of the stored bytes: their SHA-256 hash."""


async def view_file(value: FileViewInput, context: FunctionContext) -> StoredFile:
    """Store a file.

    Raises:
        FunctionRefusal: The path leads outside the project, or names a file with secrets.
        FunctionFailure: It is not an image or a PDF document, it is too large, or there is no
            storage.
    """
    data = await FUNCTION_THREADS.finish(
        readable_file, context.workspace, value.path, MAX_MEDIA_BYTES
    )
    if media_type(data) is None:
        raise FunctionFailure(
            f"{value.path!r} is not a PNG, JPEG, GIF or WebP image or a PDF document"
        )
    if context.store is None:
        raise FunctionFailure("Files.view needs a storage, and this worker has none")
    try:
        return StoredFile(stored_media=await context.store(data))
    except BlobsUnusable as error:
        raise FunctionFailure(
            f"{value.path!r} could not be stored: {error}", may_pass=True
        ) from None


VIEW = ToolFunction[FileViewInput, StoredFile](
    name="Files.view",
    description="Shows an image or a PDF document of the project to a model.",
    effect="read",
    input=TypeAdapter(FileViewInput),
    output=TypeAdapter(StoredFile),
    run=view_file,
    timeout=30.0,
    labels=("private",),
    errors={
        FailureType.FUNCTION_REFUSED: "the path leads outside the workspace, or names a file that "
        "may contain secrets",
        FailureType.FUNCTION_FAILED: "no such file, it is not an image or a PDF document, it is "
        "over 3.7 MB, or it cannot be stored",
    },
)
