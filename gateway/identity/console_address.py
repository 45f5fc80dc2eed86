"""Where people open the console of a project, and the pages of runs in it."""

from urllib.parse import quote

from coterie.dsl.errors import InvalidDocument
from coterie.gateway.identity.access_settings import load_access
from coterie.settings import Settings

HOST_FILE = "console_host"
"""In `.coterie`: the project's own name below `localhost`."""
_PORT = 7400


def run_link(settings: Settings, run: str) -> str:
    """Return the address of a run in the console; empty if nobody has served this project yet."""
    origin = _origin(settings)
    return f"{origin}{run_url(run)}" if origin else ""


def run_url(run: str) -> str:
    """Return the address of the page of a run, below that of the console."""
    return f"/runs/{quote(run, safe='')}"


def chat_url(run: str) -> str:
    """Return the address of the chat with a session, below that of the console."""
    return f"/chat/{quote(run, safe='')}"


def _origin(settings: Settings) -> str:
    try:
        public = load_access(settings).public_url
    except InvalidDocument:
        public = None
    if public is not None:
        return public
    try:
        name = (settings.state / HOST_FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError):
        return ""
    return f"http://coterie-{name}.localhost:{_PORT}" if name.isalnum() else ""
