"""Deliver `pull_request.json` to the gateway, signed as GitHub signs."""

import hmac
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from uuid import uuid4

URL = "http://127.0.0.1:7400/hooks/review/pull_request"


def main() -> int:
    """Send it, and print what the gateway answers."""
    body = Path(__file__).with_name("pull_request.json").read_bytes()
    secret = os.environ["FORGE_WEBHOOK_SECRET"].encode()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "pull_request",
        "X-GitHub-Delivery": str(uuid4()),
        "X-Hub-Signature-256": f"sha256={hmac.new(secret, body, 'sha256').hexdigest()}",
    }
    request = urllib.request.Request(sys.argv[1] if len(sys.argv) > 1 else URL, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            print(answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.read().decode())
        return 1
    except urllib.error.URLError as error:
        print(f"the gateway does not answer: {error.reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
