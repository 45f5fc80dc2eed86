"""Runs scripts in processes that need not import what they need: MCP's library takes a second.

For programs that the product itself starts. The server imports once, and forks for each of them. A
small program (`forked_script.py`) stands for the script where it is started: it ends as the script
does, and a signal that ends it ends the script.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_STAND_IN = Path(__file__).parent / "forked_script.py"
_MAX_ORDER = 150_000
_IMPORTED = ("mcp.server.mcpserver", "mcp.server.extension", "mcp.server.elicitation")


def forked(script: Path, *arguments: str) -> tuple[str, ...]:
    """The command of a script, which MCP's library serves, in a process that has imported it."""
    return (sys.executable, "-I", "-S", str(_STAND_IN), _address(), str(script), *arguments)


@cache
def _address() -> str:
    """Where the server of this process listens; it ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="coterie-scripts-")
    address = str(Path(folder.name) / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        listening.listen()
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(listening.fileno())],
            pass_fds=[listening.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )

    def close() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(close)
    return address


def _serve(listening: socket.socket) -> None:
    """Fork for each order, until nobody is left who gives one."""
    for module in _IMPORTED:
        import_module(module)
    gc.freeze()
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        asked, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _follow(asked)
        asked.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _follow(asked: socket.socket) -> NoReturn:
    """Fork the script, end it with its stand-in, and tell how it ended."""
    order, files, _, _ = socket.recv_fds(asked, _MAX_ORDER, 3)
    ended, running = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ended)
        asked.close()
        _become(files, *json.loads(order))
    for file in (running, *files):
        os.close(file)
    if ended not in select.select([ended, asked], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):  # nobody waits for it any more
        asked.send(str(os.waitstatus_to_exitcode(status) % 256).encode())
    os._exit(0)


def _become(files: Sequence[int], words: list[str], folder: str, given: dict[str, str]) -> NoReturn:
    """Run the script in this process."""
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(given)
    sys.argv = words
    code = 1
    try:
        runpy.run_path(words[0], run_name="__main__")
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):  # nobody reads it
            sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
