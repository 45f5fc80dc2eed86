"""Stands for a script that a server of scripts (`script_server.py`) runs.

Its arguments are the server's address, the script, and the script's own arguments. It ends as the
script ends, and the script ends with it.
"""

import json
import os
import socket
import sys


def main(address: str, words: list[str]) -> int:
    """Have the script run with the standard files, folder and environment of this process."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
        asked.connect(address)
        order = json.dumps((words, os.getcwd(), dict(os.environ))).encode()
        socket.send_fds(asked, [order], [0, 1, 2])
        for number in (0, 1):
            os.close(number)  # only the script holds them, so that a reader sees when it ends
        return int(asked.recv(10) or 1)


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2:]))
