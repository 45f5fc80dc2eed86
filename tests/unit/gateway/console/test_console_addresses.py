"""The address of a page names exactly one run."""

from typing import Any, cast
from urllib.parse import unquote

import pytest
from starlette.requests import Request
from starlette.routing import Match
from starlette.types import Scope

from coterie.gateway.console import console_routes
from coterie.gateway.console.console_routes import ConsolePages
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.run_access import RunAccess


class _AskedError(Exception):
    """Ends a request at the run that it asks for."""


@pytest.mark.parametrize("run", ["a%41", "a%2Fb", "a/b", "a b", "plain"])
async def test_the_address_of_a_run_opens_that_run(
    run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def permitted_run(_: object, id: str, *_more: object) -> None:
        raise _AskedError(id)

    monkeypatch.setattr(console_routes, "permitted_run", permitted_run)
    nothing = cast("Any", None)
    access = RunAccess(nothing, nothing)
    scope: Scope = {"type": "http", "method": "GET", "path": unquote(run_url(run)), "headers": []}
    (child,) = [
        found
        for route in console_routes.console_routes(access)
        for match, found in [route.matches(scope)]
        if match is Match.FULL
    ]
    with pytest.raises(_AskedError) as asked:
        await ConsolePages(access).run(Request({**scope, **child}), cast("Identity", None))
    assert str(asked.value) == run
