"""`coterie mcp login`: the command, a browser, and the tools that the project then has."""

import asyncio
import re
from pathlib import Path

import httpx2

from tests.support.project import Project, project, until
from tests.support.servers.mcp_oauth import oauth_server


async def said(made: Project, *arguments: str) -> str:
    done = await asyncio.to_thread(made.coterie, *arguments)
    return f"{done.returncode}: {done.stdout}{done.stderr}"


def link_of(made: Project) -> str | None:
    """The link that `coterie mcp login` has printed."""
    found = re.search(r"open (http\S+)", made.log("mcp"))
    return None if found is None else found[1]


async def test_a_person_signs_in_and_the_command_lists_the_tools_of_the_server(
    tmp_path: Path,
) -> None:
    (tmp_path / "empty").mkdir()
    with project(tmp_path / "desk", sample=tmp_path / "empty") as made:
        async with oauth_server() as oauth:
            (made.folder / "coterie.yml").write_text(
                "worker:\n  mcp_servers:\n"
                f"    notes: {{ url: '{oauth.url}', auth: {{ type: login }} }}\n"
                "    plain: { command: [nothing] }\n"
            )
            before = await said(made, "tools", "refresh", "notes")
            assert "run `coterie mcp login notes`" in before
            assert "takes no sign-in of a person" in await said(made, "mcp", "login", "plain")
            assert "did you mean 'notes'" in await said(made, "mcp", "login", "note")

            signing_in = made.begin("mcp", "login", "notes", "--no-browser")
            link = await asyncio.to_thread(until, lambda: link_of(made), "the link")
            async with httpx2.AsyncClient(trust_env=False, follow_redirects=True) as http:
                assert "You are signed in" in (await http.get(link)).text
            assert await asyncio.to_thread(signing_in.wait, 60) == 0, made.log("mcp")
            assert "signed in at notes" in made.log("mcp")
            assert not [token for token in oauth.valid if token in made.log("mcp")]

            after = await said(made, "tools", "refresh", "notes")
            assert after.startswith("0: "), after
            assert "+ add" in after
        assert "the sign-in at notes is deleted" in await said(made, "mcp", "logout", "notes")
        assert "nobody is signed in" in await said(made, "mcp", "logout", "notes")
