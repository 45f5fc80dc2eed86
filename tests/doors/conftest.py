"""A browser, a real OIDC provider and gateways, for tests that `make test` leaves out."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from tests.doors.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_IS_ASKED_FOR = bool(os.environ.get("COTERIE_TEST_DOORS"))
collect_ignore_glob = [] if _IS_ASKED_FOR else ["test_*.py", "*/test_*.py"]

HERE = Path(__file__).parent
PEOPLE = {"ann": {"groups": ["leads", "staff"]}, "ben": {"groups": ["leads"]}, "carl": {}}
PATIENCE = 90
"""Seconds: these tests also run while others keep the machine busy. None sleeps; each waits for
what it expects."""
AUDIENCE = "urn:coterie:doors"
CLIENT_SECRET = "a secret: of+the client"


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE * 1_000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield launched
        launched.close()


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    """A page of a browser without cookies."""
    context = patient(browser.new_context())
    yield context.new_page()
    context.close()


def log_in(page: "Page", gateway: str, name: str, to: str) -> None:
    """Sign a person in at the provider, and return to a page of the gateway."""
    page.goto(f"{gateway}/sign-in?to={to}")
    if page.locator("input[name=login]").count():
        page.fill("input[name=login]", name)
        page.fill("input[name=password]", "any")
        page.click("button[type=submit]")
    if page.get_by_role("button", name="Continue").count():
        page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{gateway}{to}")


def patient(context: "BrowserContext") -> "BrowserContext":
    """Let a window wait for its pages."""
    context.set_default_timeout(PATIENCE * 1_000)
    return context


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@dataclass
class Provider:
    """The real provider, and the clock that it shares with its gateway."""

    port: int
    gateway_port: int
    skew: float = 0.0

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def gateway(self) -> str:
        return f"http://127.0.0.1:{self.gateway_port}"

    def clock(self) -> float:
        """The time of the gateway."""
        return time.time() + self.skew

    def pass_time(self, seconds: float) -> None:
        """Let time pass for both."""
        self.skew += seconds
        self.control(f"skew={self.skew}")

    def control(self, query: str) -> None:
        with urlopen(f"{self.issuer}/control?{query}", timeout=PATIENCE) as answer:
            assert answer.read() == b"done\n"


@contextmanager
def started(
    program: list[str], ready: str, folder: Path, *, killed: bool = False, **environment: str
) -> Generator[re.Match[str]]:
    """A program, once it has printed something; it is terminated, or killed as by a crash."""
    process = subprocess.Popen(
        program,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    rest = threading.Thread(target=process.stdout.read, daemon=True)  # so that it never blocks
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line)
            if (found := re.search(ready, "".join(lines))) is not None:
                break
        else:
            pytest.fail(f"{program[0]} ended: {''.join(lines)}")
        rest.start()
        yield found
    finally:
        process.kill() if killed else process.terminate()
        process.wait(PATIENCE)
        if rest.ident is not None:
            rest.join(PATIENCE)
        process.stdout.close()


@contextmanager
def server_stopped(folder: Path) -> Generator[None]:
    """The embedded server of a project ends with the block."""
    try:
        yield
    finally:
        stop = [sys.executable, "-m", "coterie", "server", "--stop"]
        subprocess.run(stop, cwd=folder, check=False, capture_output=True)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    from tests.stand_in.install import node

    made = Provider(free_port(), free_port())
    configuration = {
        "port": made.port,
        "gateway": made.gateway,
        "people": PEOPLE,
        "audience": AUDIENCE,
    }
    program = [str(node()), str(HERE / "provider.mjs"), json.dumps(configuration)]
    with started(program, "(?m)^ready$", HERE):
        yield made


@pytest.fixture(scope="module")
def gateway(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gateway whose people sign in at the provider: `/who` says who asks."""
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "coterie.yml").write_text(
        f"""\
access:
  public_url: {provider.gateway}
  oidc:
    issuer: {provider.issuer}
    client_id: coterie
    client_secret_env: CLIENT_SECRET
    scopes: [openid, email, profile, groups]
    audience: {AUDIENCE}
  grants:
    - {{ groups: ["*"], roles: [viewer] }}
    - {{ groups: [leads], roles: [approver], teams: ["pay_*"] }}
    - {{ subjects: [nightly], roles: [starter] }}
"""
    )
    with ExitStack() as stack:
        stack.enter_context(serving(folder, provider.gateway_port, provider.clock))
        yield provider.gateway


@contextmanager
def serving(folder: Path, port: int, clock: Callable[[], float]) -> Generator[None]:
    """The sign-in of a gateway in this process, whose clock tests move, around a page `/who`."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from coterie.gateway.identity.access_settings import load_access
    from coterie.gateway.identity.sign_in_routes import SignInLayer, authenticate, sign_in_routes
    from coterie.gateway.identity.sign_in_setup import sign_in_gate
    from coterie.settings import load

    async def who(request: Request) -> Response:
        identity = await authenticate(request)
        if identity is None:
            return JSONResponse(None, 401)
        return JSONResponse(identity.model_dump(mode="json"))

    async def leave(_: Request) -> Response:
        form = '<form method="post" action="/sign-out"><button>Leave</button></form>'
        policy = {"Content-Security-Policy": "default-src 'none'; form-action 'self'"}
        return Response(form, headers=policy, media_type="text/html")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        if gate.provider is not None:
            await gate.provider.close()

    settings = load({"CLIENT_SECRET": CLIENT_SECRET}, folder)
    gate = sign_in_gate(settings, load_access(settings), port, clock=clock)
    routes = [*sign_in_routes(gate), Route("/who", who), Route("/leave", leave)]
    app = SignInLayer(Starlette(routes=routes, lifespan=lifespan), gate)
    config = uvicorn.Config(
        app,
        port=port,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield
    server.should_exit = True
    thread.join(PATIENCE)
