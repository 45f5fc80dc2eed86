"""One project with `coterie serve` for all tests of the gateway over a real server."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Iterator

import pytest
import pytest_asyncio

from coterie.failures import ExitCode
from coterie.gateway.worker_process import needs_worker
from coterie.server.connection import open_connection
from coterie.settings import Settings, load
from tests.e2e.gateway.door_teams import TEAMS
from tests.support.cli import DESK
from tests.support.gateway import gateway
from tests.support.project import Project, project, until

OFFER = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: first
  context: {amount: {type: integer}, note: {type: string, default: ""}}
  teams:
    first:
      tasks:
        - {name: sign, type: approval, prompt: "Send?", show: "{{ context.amount }}",
           approvers: [ann, ben], quorum: 2}
      routing: {rules: [{condition: all_success, next_team: last}], default: null}
    last: {tasks: [{name: say, type: set, values: {done: "{{ context.note }}"}}]}
"""

BILL = """
orchestration:
  entry_team: sign
  context: {bill: {type: object}, note: {type: string, default: ""}}
  teams:
    sign:
      tasks:
        - name: pay
          type: approval
          prompt: "Pay it?"
          show: "{{ context.bill }}"
          editable: true
          schema:
            type: object
            required: [vendor, lines]
            properties:
              vendor: {type: string}
              urgent: {type: boolean}
              lines:
                type: array
                items:
                  type: object
                  required: [what]
                  properties: {what: {type: string}, price: {type: number, minimum: 0}}
      routing: {default: null}
"""


TALK = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: desk
  max_messages: 20
  teams:
    desk:
      tasks:
        - {name: heard, type: wait, message: true, deadline: 1h}
        - {name: told, type: reply, value: "heard {{ tasks.heard.data }}"}
      routing: {default: desk}
"""


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with `coterie serve`, which starts a server and a worker."""
    with project(tmp_path_factory.mktemp("gateway") / "desk", sample=DESK) as made:
        (made.folder / "config/teams/offer.yml").write_text(OFFER)
        (made.folder / "config/teams/bill.yml").write_text(BILL)
        (made.folder / "config/teams/talk.yml").write_text(TALK)
        for name, text in TEAMS.items():
            (made.folder / f"config/teams/{name}.yml").write_text(text)
        serving = made.begin("serve", "--port", "0", "--no-browser")
        until(lambda: "open " in said(made), "the gateway")
        yield made
        serving.send_signal(signal.SIGINT)
        assert serving.wait(60) == ExitCode.INTERRUPTED, said(made)
        assert "Traceback" not in said(made)
        settings = load(made.environment, made.folder)
        assert asyncio.run(is_left_alone(settings)), "its worker still polls"


def said(made: Project) -> str:
    """What `coterie serve` has printed."""
    return (made.folder / "serve.log").read_text()


async def is_left_alone(settings: Settings) -> bool:
    """Whether no worker polls the queue any more."""
    return await needs_worker((await open_connection(settings)).client, settings)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def app(served: Project) -> AsyncGenerator[object]:
    async with gateway(load(served.environment, served.folder)) as made:
        yield made
