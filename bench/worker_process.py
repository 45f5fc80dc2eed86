"""What every worker process of a measurement answers about itself.

It imports no third party, so that the environment of a peer can use it.
"""

import asyncio
import ctypes
import gc
import os
import sys
import time
from pathlib import Path


async def answer_questions() -> None:
    """Report that the worker is ready, then answer each line on standard input until it ends.

    `cpu` gets the CPU seconds that this process has used so far, without those for answering
    `memory`; `memory` gets its resident bytes.
    """
    print("ready", flush=True)
    looked = 0.0
    while question := await asyncio.to_thread(sys.stdin.readline):
        if question == "memory\n":
            began = time.thread_time()
            answer = _resident()
            looked += time.thread_time() - began
        else:
            answer = time.process_time() - looked
        print(answer, flush=True)


def _resident() -> int:
    """Bytes of this process in memory, without its garbage and what the allocator keeps back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
