"""What `coterie validate` costs as a whole process, on a document of a thousand lines."""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.interpreter import Figure
from tests.support.documents.large_document import large_document


def validation(repeats: int) -> Figure:
    """The CPU time of the process, user and system: the least of several, its bytecode warm."""
    text = large_document()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.yml"
        file.write_text(text, encoding="utf-8")
        _cpu(file)  # writes the bytecode
        seconds = min(_cpu(file) for _ in range(repeats))
    return Figure("validate", len(text.splitlines()), seconds * 1e6)


def _cpu(file: Path) -> float:
    """Seconds of CPU of one call."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [Path(sys.executable).with_name("coterie"), "validate", file],
        cwd=file.parent,
        env=environment,
        capture_output=True,
        check=True,
    )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
