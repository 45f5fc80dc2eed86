"""Activities called in this process: results come back whole, files are stored as on a worker."""

from pathlib import Path
from typing import Any, cast

from coterie.activities.contracts import FunctionRequest
from coterie.activities.model_prices import Pricing
from coterie.activities.providers.provider_registry import Providers
from coterie.activities.storage.blobs import name_of
from coterie.activities.tool_functions.function_activity import MAX_INLINE
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS
from coterie.activities.workspace.function_base import Workspace
from coterie.agents.in_process_world import InProcessWorld

GIF = b"GIF89a" + bytes(50)


async def test_a_picture_is_stored_and_a_long_result_is_returned(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(GIF)
    (tmp_path / "a.txt").write_text("x" * 2 * MAX_INLINE)
    world = InProcessWorld(Providers({}), Workspace(tmp_path), TOOL_FUNCTIONS, Pricing({}))

    async def called(function: str, path: str) -> Any:
        given = FunctionRequest(skill=function, input={"path": path}, key="r/1", keep=True)
        return cast("Any", (await world.call_function(given)).data)

    assert await called("Files.view", "a.gif") == {"stored_media": name_of(GIF)}
    assert len((await called("Files.read", "a.txt"))["text"]) == 2 * MAX_INLINE
