"""Spare the garbage collector what a worker keeps for its whole life."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def frozen_heap() -> Generator[None]:
    """Within the block, no collection looks through the objects that exist now.

    Modules, models and their validators are 100,000 objects; passing over them takes a twentieth of
    a worker's CPU off.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
