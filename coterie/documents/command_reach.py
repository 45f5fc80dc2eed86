"""Whether commands would run in a sandbox here: `worker.sandbox: auto` needs one that works."""

import os
from collections.abc import Sequence

from coterie.activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.activities.processes.search_path import path_outside
from coterie.dsl.compile.compiler import SourceText
from coterie.settings import Settings


def finds_sandbox(settings: Settings, sources: Sequence[SourceText]) -> bool:
    """Return whether `auto` finds a sandbox; it is tried only if a file may declare commands."""
    if not any("commands" in source.text for source in sources):
        return True
    return works_here(settings)


def works_here(settings: Settings) -> bool:
    """Return whether bubblewrap works on this machine."""
    path = settings.environment.get("PATH", os.defpath)
    return isinstance(find_bubblewrap(path_outside(path, settings.project.resolve())), Bubblewrap)
