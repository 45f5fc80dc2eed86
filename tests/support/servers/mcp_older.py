"""The server of `mcp_demo.py` as it was before protocol 2026-07-28: it knows no `server/discover`.

A question then comes within the call. Its arguments are the command of that server.
"""

import json
import subprocess
import sys

with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, text=True) as demo:
    assert demo.stdin is not None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "server/discover":
            error = {"code": -32601, "message": "unknown method"}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "error": error}
            sys.stdout.write(f"{json.dumps(answer)}\n")
            sys.stdout.flush()
        else:
            demo.stdin.write(line)
            demo.stdin.flush()
