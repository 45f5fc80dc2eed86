"""What `coterie validate` costs on a document of a thousand lines: its process, and its checks."""

import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.interpreter import Figure
from coterie.dsl.analysis.findings import analysed
from coterie.dsl.compile.compiler import SourceText, compile_sources
from tests.support.compiling import CAPABILITIES
from tests.support.documents.large_document import large_document


def validations(repeats: int) -> list[Figure]:
    """The CPU time of the process, and of compiling and all checks in one: the least of several."""
    text = large_document()
    lines = len(text.splitlines())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.yml"
        file.write_text(text, encoding="utf-8")
        _cpu(file)  # writes the bytecode
        seconds = min(_cpu(file) for _ in range(repeats))
    checks = min(_checks(text) for _ in range(repeats))
    return [Figure("validate", lines, seconds * 1e6), Figure("checks", lines, checks * 1e6)]


def _checks(text: str) -> float:
    """Seconds of CPU of compiling and analysing, without garbage collection, like the command."""
    gc.collect()
    gc.disable()
    began = time.process_time()
    analysed(compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a"))
    ended = time.process_time()
    gc.enable()
    return ended - began


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
