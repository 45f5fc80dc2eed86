"""What calls bring, and leave behind, because of files: the worker alone knows which these are."""

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

from coterie.activities.contracts import InnerCall, SkillRequest
from coterie.activities.metering import Meter
from coterie.activities.threads.run_threads import SKILL_THREADS
from coterie.activities.workspace.labelled_files import (
    any_labelled,
    any_written,
    labelled_files,
    labelling_writes,
)
from coterie.activities.workspace.skill_base import Workspace
from coterie.activities.workspace.skill_failures import SkillRefusal
from coterie.dsl.egress.channel_labels import kind_of_call
from coterie.dsl.egress.workspace_reads import (
    FILE_READERS,
    FILE_WRITERS,
    KEEPERS,
    STATE_WRITERS,
    WORKSPACE_READERS,
    is_trusted,
)
from coterie.dsl.model.capabilities import Effect, KeptLabel


async def labels_of_read(workspace: Workspace, request: SkillRequest) -> tuple[KeptLabel, ...]:
    """Return `untrusted` if a result may show what runs wrote with it, or a file of others."""
    skill = request.skill
    if skill not in WORKSPACE_READERS and kind_of_call(skill) != "function":
        return ()
    file = _named_file(workspace, request) if skill in FILE_READERS else None
    if file is not None and not _is_vouched_for(workspace, file):
        return ("untrusted",)
    if not any_written(workspace):
        return ()
    if skill in KEEPERS or await SKILL_THREADS.run(_shows_labelled, workspace, file):
        return ("untrusted",)
    return ()


async def note_failed_read(workspace: Workspace, request: SkillRequest, meter: Meter) -> None:
    """Keep what a failed call brings: its message may show what it has read."""
    labels = await labels_of_read(workspace, request)
    if labels:
        meter.note_call(InnerCall(skill=request.skill, effect="read", labels=labels))


async def labelling(
    workspace: Workspace, request: SkillRequest, effect: Effect
) -> AbstractAsyncContextManager[None]:
    """Return what labels the files that a call writes, if they may repeat text of others.

    They may if its run has met some, or if the call itself may read what such a run wrote.
    """
    if effect == "read" or request.skill in STATE_WRITERS:
        return nullcontext()
    if not request.untrusted and not await labels_of_read(workspace, request):
        return nullcontext()
    file = _named_file(workspace, request) if request.skill in FILE_WRITERS else None
    return labelling_writes(workspace, request.key, file)


def _named_file(workspace: Workspace, request: SkillRequest) -> Path | None:
    """Return the file that a call names; None if it names none that there could be."""
    path = request.input.get("path") if isinstance(request.input, dict) else None
    try:
        return workspace.inside(path) if isinstance(path, str) else None
    except SkillRefusal:
        return None


def _is_vouched_for(workspace: Workspace, file: Path) -> bool:
    """Return whether the worker vouches for a file; without globs, the terms of the call say it."""
    globs = workspace.trusted_paths
    return not globs or is_trusted(file.relative_to(workspace.root).as_posix(), globs)


def _shows_labelled(workspace: Workspace, file: Path | None) -> bool:
    known = labelled_files(workspace)
    return any_labelled(workspace, known) if file is None else known.hold(file)
