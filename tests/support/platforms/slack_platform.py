"""A stand-in of Slack on a real port: it signs as Slack does, and refuses what Slack refuses."""

import hmac
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TOKEN = "xoxb-stand-in"
WORKSPACE = "T0001"


def signed_headers(body: bytes, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    """The headers with which Slack sends a body."""
    sent_at = str(int(time.time() if at is None else at))
    content = f"v0:{sent_at}:".encode() + body
    signature = "v0=" + hmac.new(secret.encode(), content, sha256).hexdigest()
    return {"x-slack-request-timestamp": sent_at, "x-slack-signature": signature}


@dataclass
class SlackPlatform:
    """What an app sent to it."""

    url: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[Any])
    """Methods of the API with their arguments, and `response` for changed messages."""
    posts: list[dict[str, Any]] = field(default_factory=list[Any])
    """What stands in its channels."""
    errors: list[str] = field(default_factory=list[str])
    """The errors of the next calls."""
    open: threading.Event = field(default_factory=threading.Event)
    """Cleared, a call gets no answer, and does nothing."""
    unanswered: threading.Event = field(default_factory=threading.Event)
    """Set by such a call."""
    news: threading.Condition = field(default_factory=threading.Condition)

    def sent(self, method: str, count: int = 1, seconds: float = 30) -> list[dict[str, Any]]:
        """The arguments of the calls of a method, once there are so many."""
        with self.news:
            assert self.news.wait_for(lambda: len(self._of(method)) >= count, seconds), self.calls
            return self._of(method)

    def _of(self, method: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == method]

    def answer(self, path: str, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take a call."""
        if path.startswith("/respond/"):
            method = "response"
        else:
            method = path.removeprefix("/api/")
            if token != f"Bearer {TOKEN}":
                return {"ok": False, "error": "invalid_auth"}
        if not self.open.is_set():
            self.unanswered.set()
            self.open.wait(60)
            return {"ok": False, "error": "internal_error"}
        problem = self.errors.pop(0) if self.errors else problem_of(method, arguments)
        with self.news:
            if not problem:
                self.calls.append((method, arguments))
                if method == "chat.postMessage":
                    self.posts.append(arguments)
            self.news.notify_all()
        if method == "conversations.replies" and not problem:
            return {"ok": True, "messages": self.thread(arguments)}
        return {"ok": not problem, **({"error": problem} if problem else {})}

    def thread(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        """The messages of a thread, with their metadata if they are asked for."""
        place, shown = (arguments["channel"], arguments["ts"]), {"text", "thread_ts"}
        if arguments.get("include_all_metadata") == "true":
            shown |= {"metadata"}
        return [{"type": "message", "user": "U0001", "text": "x", "ts": arguments["ts"]}] + [
            {"type": "message", "bot_id": "B1", **{key: post[key] for key in shown & set(post)}}
            for post in self.posts
            if (post["channel"], post.get("thread_ts")) == place
        ]

    def press(self, user: str, action: str, value: str, message: dict[str, Any]) -> bytes:
        """The body of a press of a button."""
        payload = {
            "type": "block_actions",
            "user": {"id": user, "username": "x", "team_id": WORKSPACE},
            "team": {"id": WORKSPACE, "domain": "x"},
            "container": {"type": "message"},
            "trigger_id": "13345224609.738474920.8088930838d88f008e0",
            "response_url": f"{self.url}/respond/1",
            "message": {"type": "message", **message},
            "actions": [{"type": "button", "action_id": action, "value": value, "block_id": "b"}],
        }
        return urlencode({"payload": json.dumps(payload)}).encode()

    def submission(self, user: str, view: dict[str, Any], values: dict[str, Any]) -> bytes:
        """The body of a filled dialog."""
        sent = {**view, "id": "V1", "state": {"values": values}}
        payload = {
            "type": "view_submission",
            "user": {"id": user, "team_id": WORKSPACE},
            "team": {"id": WORKSPACE},
            "view": sent,
        }
        return urlencode({"payload": json.dumps(payload)}).encode()


def event(user: str, text: str, ts: str, **more: object) -> bytes:
    """The body of an event about a message."""
    message = {"type": "app_mention", "channel": "C1", "user": user, "text": text, "ts": ts, **more}
    return json.dumps(
        {
            "token": "x",
            "type": "event_callback",
            "team_id": WORKSPACE,
            "api_app_id": "A1",
            "event_id": f"Ev{ts}",
            "event_time": 1,
            "event": message,
        }
    ).encode()


def problem_of(method: str, arguments: dict[str, Any]) -> str:
    """Why Slack would refuse a call; empty if it would not."""
    blocks: list[dict[str, Any]] = arguments.get("view", arguments).get("blocks", [])
    parts: list[dict[str, Any]] = []
    for block in blocks:
        parts += [block.get("text") or {}, *block.get("elements", ())]
    for part in parts:
        text: Any = part.get("text", "")
        if len(text if isinstance(text, str) else json.dumps(text)) > 3_000:
            return "invalid_blocks"
        if len(part.get("value", "")) > 2_000:
            return "invalid_blocks"
    if method == "views.open" and len(arguments["view"]["private_metadata"]) > 3_000:
        return "invalid_arguments"
    if method == "conversations.replies" and not {"channel", "ts"} <= set(arguments):
        return "invalid_arguments"  # it takes no JSON
    if method == "chat.postMessage" and not arguments.get("channel"):
        return "channel_not_found"
    return ""


@contextmanager
def slack_platform() -> Generator[SlackPlatform]:
    """A stand-in on a free port."""
    made = SlackPlatform()
    made.open.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"]))
            is_form = self.headers["content-type"] == "application/x-www-form-urlencoded"
            arguments = dict(parse_qsl(sent.decode())) if is_form else json.loads(sent)
            token = self.headers.get("authorization", "")
            body = json.dumps(made.answer(self.path, token, arguments)).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
