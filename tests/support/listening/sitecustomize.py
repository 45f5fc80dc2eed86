"""Writes down to whom the process speaks: loaded by Python itself when this folder is on its path.

Python's own sockets are seen by an audit hook, as they are connected and as names are looked up;
those of compiled libraries, which Python does not see, in the operating system's table.
"""

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

_LOG = os.environ["LISTENING_LOG"]
_EVENTS = ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")


def _tell(kind: str, whom: object) -> None:
    with open(_LOG, "a", encoding="utf-8") as log:
        log.write(f"{kind}\t{whom}\n")


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event in _EVENTS:
        _tell(event, arguments[0] if event.startswith("socket.get") else arguments[1])


def _peers() -> set[str]:
    """The other ends of this process's own connections, as the system writes them."""
    own = set[str]()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            own.add(os.readlink(link))
    found = set[str]()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[2].rpartition(":")
            if int(port, 16) and f"socket:[{fields[9]}]" in own:
                found.add(f"{address}:{int(port, 16)}")
    return found


def _look() -> None:
    seen = set[str]()
    while True:
        with suppress(OSError):
            for peer in _peers() - seen:
                seen.add(peer)
                _tell("table", peer)
        time.sleep(0.01)


sys.addaudithook(_hook)
threading.Thread(target=_look, daemon=True).start()
