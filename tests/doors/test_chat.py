"""A chat with a session in a real browser: by several people, by keyboard, without script."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import pytest
from playwright.sync_api import Browser, Page, Route, StorageState, expect

from tests.doors.conftest import (
    CLIENT_SECRET,
    HERE,
    PATIENCE,
    Provider,
    log_in,
    server_stopped,
    started,
)
from tests.support.servers.streamed_model import StreamedModel, streamed_model

TEAM = """
description: Answers questions about our invoices, and writes notes if a person agrees.
llm_config:
  default_provider: desk
  default_model: m
  providers: {{desk: {{kind: openai, api_base: "{url}"}}}}
  personas:
    helper: {{stream: true, tools: [note], prompts: {{system: You help with invoices.}}}}
tools:
  note: {{skill: Files.write, description: Writes a note., requires_approval: true}}
orchestration:
  entry_team: talk
  teams:
    talk:
      type: chat
      chat: {{persona_key: helper, until: "{{{{ tasks.message.data == 'bye' }}}}"}}
"""
ECHO = """
description: Says everything again.
orchestration:
  entry_team: echo
  teams: {echo: {type: chat, chat: {reply: "{{ tasks.message.data }}!"}}}
"""
CONFIGURATION = """\
worker: {{ workspace: . }}
access:
  public_url: {provider.gateway}
  oidc:
    issuer: {provider.issuer}
    client_id: coterie
    client_secret_env: CLIENT_SECRET
    scopes: [openid, email, profile, groups]
  grants:
    - {{ groups: ["*"], roles: [viewer] }}
    - {{ groups: [leads], roles: [starter, approver] }}
"""
AXE = HERE / "node_modules/axe-core/axe.min.js"
JUDGE = """async () => (await axe.run(document)).violations
  .map((found) => `${found.id}: ${found.nodes[0].html.slice(0, 120)}`)"""


@dataclass
class Desk:
    """A gateway, people, and the model that answers them."""

    browser: Browser
    origin: str
    model: StreamedModel
    messages: list[str] = field(default_factory=list[str])
    """What the pages complained about."""
    people: dict[str, StorageState] = field(default_factory=dict[str, StorageState])
    """Their cookies."""

    def sign_in(self, name: str, *, script: bool = True) -> Page:
        """A page in a browser of its own, whose person has signed in."""
        if name not in self.people:
            context = self.browser.new_context(base_url=self.origin)
            log_in(context.new_page(), self.origin, name, "/chat")
            self.people[name] = context.storage_state()
            context.close()
        context = self.browser.new_context(
            base_url=self.origin, storage_state=self.people[name], java_script_enabled=script
        )
        context.set_default_timeout(PATIENCE * 1_000)
        page = context.new_page()
        page.on("console", lambda message: self.messages.append(message.text))
        return page


@pytest.fixture(scope="module")
def desk(
    browser: Browser, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    (folder / "config/teams").mkdir(parents=True)
    (folder / "coterie.yml").write_text(CONFIGURATION.format(provider=provider))
    serve = [sys.executable, "-m", "coterie", "serve", "--no-browser"]
    serve += ["--port", str(provider.gateway_port)]
    with streamed_model() as model, server_stopped(folder):
        (folder / "config/teams/desk.yml").write_text(TEAM.format(url=model.url))
        (folder / "config/teams/echo.yml").write_text(ECHO)
        with started(serve, r"open +http", folder, CLIENT_SECRET=CLIENT_SECRET):
            yield Desk(browser, provider.gateway, model)


def begin(page: Page, run: str, team: str = "desk") -> None:
    """Start a session from the page of its team."""
    page.goto(f"/teams/{team}")
    page.get_by_label("Id of the run").fill(run)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("h1 .pill")).to_have_text("waits for a message")
    page.wait_for_load_state("load")  # its script sends what the keyboard says


def test_people_talk_with_a_session_by_keyboard_and_see_its_answer_as_it_is_written(
    desk: Desk,
) -> None:
    ann, ben = desk.sign_in("ann"), desk.sign_in("ben")
    begin(ann, "talk")
    ben.goto("/chat/talk")
    box = ann.get_by_label("Message", exact=True)
    box.focus()
    ann.keyboard.type("Is number 7")
    ann.keyboard.press("Shift+Enter")
    ann.keyboard.type("paid?")
    ann.keyboard.press("Enter")
    expect(box).to_have_value("")
    expect(box).to_be_focused()
    asked = ben.locator(".bubble.person").first
    expect(asked).to_contain_text("ann@example.com")
    expect(asked.locator(".words")).to_have_text("Is number 7\npaid?")

    desk.model.say("Number 7 is")
    for page in (ann, ben):
        expect(page.locator(".writing")).to_contain_text("Number 7 is")
    ben.goto("/runs/talk")  # and within the conversation of its agent
    conversation = ben.locator("#agents .writing")
    expect(conversation).to_contain_text("Number 7 is")
    ben.goto("/chat/talk")
    ben.get_by_label("Message", exact=True).fill("And number 8?")
    ben.get_by_role("button", name="Send").click()
    expect(ann.locator(".exchange", has_text="And number 8?")).to_contain_text("waits for its turn")
    desk.model.end(" paid.")
    desk.model.end("So is 8.")
    replies = ann.locator(".exchange > .reply .words")
    expect(replies).to_have_text(["Number 7 is paid.", "So is 8."])
    expect(ann.get_by_text("not verified")).to_have_count(0)
    mine = ann.locator(".bubble.mine")
    expect(mine).to_have_count(1)
    expect(mine).to_contain_text("(you)")
    expect(ann.locator(".bubble.person").nth(1)).to_contain_text("ben@example.com")
    expect(ann.locator("#heard")).to_have_text("So is 8.")


def test_a_tool_asks_for_approval_in_the_chat_and_an_approver_decides_there(desk: Desk) -> None:
    ann = desk.sign_in("ann")
    begin(ann, "noting")
    ann.get_by_label("Message", exact=True).fill("Note that 7 is paid.")
    ann.keyboard.press("Enter")
    desk.model.call("note", '{"path": "note.txt", "content": "7 is paid."}')
    card = ann.locator(".exchange .waiting-card")
    expect(card).to_contain_text("7 is paid.")
    ann.get_by_label("Message", exact=True).fill("not yet sent")
    card.get_by_role("button", name="Approve").click()
    desk.model.end("I have noted it.")
    expect(ann).to_have_url(f"{desk.origin}/chat/noting#end")
    expect(ann.get_by_label("Message", exact=True)).to_have_value("not yet sent")
    expect(ann.locator(".reply")).to_contain_text("I have noted it.")
    expect(ann.locator(".step", has_text="approved")).to_contain_text("ann@example.com")
    tool = ann.locator("details.tool-step")
    tool.locator("summary").click()
    expect(tool).to_contain_text("note.txt")


def lose_answer(route: Route) -> None:
    route.fetch()
    route.abort()


def test_a_message_that_was_not_sent_keeps_its_text_and_is_sent_once(desk: Desk) -> None:
    ann = desk.sign_in("ann")
    begin(ann, "kept")
    box = ann.get_by_label("Message", exact=True)
    address = "**/v1/runs/kept/messages"
    ann.route(address, lose_answer)
    box.fill("Hello")
    box.press("Enter")
    line = ann.locator("#sending")
    expect(line).to_contain_text("Not sent: no connection.")
    ann.unroute(address)
    cookies = ann.context.cookies()
    ann.context.clear_cookies()
    box.press("Enter")
    expect(line).to_contain_text("your session has ended")
    expect(box).to_have_value("Hello")
    ann.context.add_cookies(cast("Any", cookies))
    ann.reload()
    expect(box).to_have_value("Hello")
    box.press("Enter")
    expect(box).to_have_value("")
    desk.model.end("Hello to you.")
    expect(ann.locator(".reply")).to_contain_text("Hello to you.")
    expect(ann.locator(".bubble.mine")).to_have_count(1)


def test_a_chat_reads_and_sends_without_script_and_ends(desk: Desk) -> None:
    ann, carl = desk.sign_in("ann", script=False), desk.sign_in("carl")
    scripted = desk.sign_in("ann")
    begin(scripted, "plain")
    ann.goto("/chat/plain")
    desk.model.end("See you.")
    ann.get_by_label("Message", exact=True).fill("bye")
    ann.get_by_role("button", name="Send").dblclick()
    expect(scripted.locator("#closed")).to_contain_text("has ended")
    ann.goto("/chat/plain")
    expect(ann.locator(".bubble.mine")).to_have_count(1)
    expect(ann.locator(".reply .words")).to_have_text("See you.")
    carl.goto("/chat/plain")
    expect(carl.locator("#compose")).to_have_count(0)


SEND = """async (text) => {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ message: text });
  return (await fetch("/v1/runs/long/messages", { method: "POST", headers, body })).status;
}"""


def test_a_long_conversation_begins_at_its_newest_end_and_has_the_rest_on_demand(
    desk: Desk,
) -> None:
    ann = desk.sign_in("ann")
    begin(ann, "long", "echo")
    assert {ann.evaluate(SEND, f"message {number}") for number in range(23)} == {200}
    ann.goto("/chat/long")
    shown = ann.locator(".exchange")
    expect(shown).to_have_count(20)
    expect(shown.get_by_text("message 22!")).to_be_in_viewport()
    ann.get_by_label("Message", exact=True).fill("message 23")
    ann.keyboard.press("Enter")
    expect(shown.get_by_text("message 23!")).to_be_in_viewport()
    expect(shown).to_have_count(21)  # what is no longer among the latest stays
    ann.get_by_role("link", name="Earlier messages").focus()
    ann.keyboard.press("Enter")
    expect(shown).to_have_count(24)
    expect(shown.locator(".reply .words")).to_have_text([f"message {n}!" for n in range(24)])
    plain = desk.sign_in("carl", script=False)
    plain.goto("/chat/long")
    plain.get_by_role("link", name="Earlier messages").click()
    expect(plain.locator(".reply .words")).to_have_text([f"message {n}!" for n in range(4)])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_chat_which_fits_a_narrow_window(
    desk: Desk, scheme: Literal["light", "dark"]
) -> None:
    page = desk.sign_in("ann")
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 740})
    for path in ("/chat", "/chat/talk", "/chat/noting", "/chat/plain"):
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach((it) => (it.open = true))")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        page.evaluate(AXE.read_text())
        assert page.evaluate(JUDGE) == [], path
    assert [text for text in desk.messages if "Policy" in text or "Trusted" in text] == []
