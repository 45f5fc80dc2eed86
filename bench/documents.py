"""What compiling and analysing costs, in each direction in which a document can be large.

The sizes double up to two megabytes; a document with more than 200,000 values is refused before.
"""

import gc
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.report import write_rows
from coterie.dsl.analysis.findings import analysed
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, listed
from coterie.dsl.values import Json
from tests.support.compiling import CAPABILITIES
from tests.support.documents.document_shapes import SHAPES, document_of

KILOBYTES = (500, 1000, 2000)
_REFUSED = "E005"
_MAX_TIMES = 2.3
"""What twice the document may cost."""
_MIN_SECONDS = 1.0
"""Below, the noise of one measurement is as large as the growth."""
_MAX_SECONDS = 60.0
"""After a document that costs more, no larger one of its shape is measured."""


class Cost(NamedTuple):
    """The cost of one document."""

    shape: str
    size: int
    """In bytes."""
    seconds: float
    """Of CPU."""
    times: float | None
    """The cost divided by that of half the document; None for the first."""


def measured(kilobytes: Sequence[int], out: Path) -> str:
    """Measure all shapes; return the table."""
    costs = [cost for shape in SHAPES for cost in _costs(shape, kilobytes)]
    rows: list[Json] = [
        {"case": "documents", "shape": one.shape, "n": one.size, "cpu_ms": round(one.seconds * 1e3)}
        for one in costs
    ]
    write_rows(out, rows)
    return "\n".join((*map(_line, costs), *_summary(costs)))


def _summary(costs: Sequence[Cost]) -> Iterator[str]:
    """Yield what is not near linear, by name, and the most memory of this process."""
    above = sorted({one.shape for one in costs if _is_above(one)})
    yield f"above {_MAX_TIMES} times, of those that cost {_MIN_SECONDS:.0f} s: {listed(above)}"
    yield f"memory at its peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB"


def _is_above(one: Cost) -> bool:
    return one.times is not None and one.times > _MAX_TIMES and one.seconds >= _MIN_SECONDS


def _line(one: Cost) -> str:
    times = "" if one.times is None else f"{one.times:.2f} times half of it"
    if _is_above(one):
        times += f", more than {_MAX_TIMES}"
    return f"{one.shape:26} {one.size / 1000:6.0f} KB {one.seconds:6.2f} s  {times}"


def _costs(shape: str, kilobytes: Sequence[int]) -> Iterator[Cost]:
    before: float | None = None
    for size in kilobytes:
        text = document_of(shape, size * 1000)
        seconds = _seconds(text)
        if seconds is None:
            return
        cost = Cost(shape, len(text), seconds, None if before is None else seconds / before)
        print(_line(cost), file=sys.stderr)
        yield cost
        if seconds > _MAX_SECONDS:
            return
        before = seconds


def _seconds(text: str) -> float | None:
    """Return the CPU time of one document; None if it is too large to be read.

    Without garbage collection, like `coterie validate`: a collection falls into one size and not
    into the next.
    """
    gc.collect()
    gc.disable()
    began = time.process_time()
    try:
        analysed(compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a"))
    except InvalidDocument as error:
        if error.problems[0].code == _REFUSED:
            return None
    finally:
        gc.enable()
    return time.process_time() - began
