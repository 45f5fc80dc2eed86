"""Agent classes that would harm their worker, if they ran in it."""

import ctypes
import os
import subprocess
import sys
import time
from typing import Any

_calls = 0
_SLEEP = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)")


class Hostile:
    """Does what its context names."""

    def process(self, context: dict[str, Any]) -> object:
        return getattr(self, f"_{context['do']}")(context)

    def _answer(self, context: dict[str, Any]) -> object:
        global _calls  # what stays in a warm process
        _calls += 1
        return {"success": True, "data": {"pid": os.getpid(), "calls": _calls}}

    def _exit(self, context: dict[str, Any]) -> object:
        sys.stderr.write("database is gone\n")
        os._exit(3)

    def _segfault(self, context: dict[str, Any]) -> object:
        return ctypes.string_at(0)

    def _sys_exit(self, context: dict[str, Any]) -> object:
        sys.exit("enough")

    def _base_exception(self, context: dict[str, Any]) -> object:
        raise KeyboardInterrupt

    def _wordless(self, context: dict[str, Any]) -> object:
        raise Wordless

    def _loop(self, context: dict[str, Any]) -> object:
        with open(context["pids"], "a") as file:
            file.write(f"{os.getpid()}\n")
        while True:
            pass

    def _print(self, context: dict[str, Any]) -> object:
        for _ in range(200):
            sys.stdout.write('{"outcome": {"kind": "needs", "parameter": "x"}}\n' * 1_000)
            os.write(1, b"x" * 10_000)
        return {"success": True, "data": "printed"}

    def _large(self, context: dict[str, Any]) -> object:
        return {"success": True, "data": "x" * 9_000_000}

    def _fork(self, context: dict[str, Any]) -> object:
        os.fork()
        return {"success": True, "data": "forked"}

    def _leave(self, context: dict[str, Any]) -> object:
        if context["kin"] == "orphan" and (child := os.fork()):
            os.waitpid(child, 0)
        else:
            session = context["kin"] != "group"
            left = subprocess.Popen(_SLEEP, start_new_session=session)
            with open(context["pids"], "a") as file:
                file.write(f"{left.pid}\n")
            if context["kin"] == "orphan":
                os._exit(0)
        if context.get("wait"):
            time.sleep(600)
        return {"success": True, "data": "left"}

    def _environment(self, context: dict[str, Any]) -> object:
        return {"success": True, "data": dict(os.environ)}

    def _input(self, context: dict[str, Any]) -> object:
        return {"success": True, "data": sys.stdin.read()}

    def _close(self, context: dict[str, Any]) -> object:
        os.closerange(0, 1_000)
        return {"success": True, "data": "closed"}

    def _pickle(self, context: dict[str, Any]) -> object:
        return {"success": True, "data": Hostile()}


class Wordless(BaseException):
    """Fails at its own words."""

    def __str__(self) -> str:
        raise RuntimeError
