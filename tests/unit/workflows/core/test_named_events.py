"""Named events: the starts of visits, by the names that teams give them."""

from coterie.display.following.plain_view import event_lines
from coterie.text.moments import clock
from coterie.workflows.handlers.query_handlers import events
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of, problems_of
from tests.support.simulation.stopping import StoppingScope, World, carried, fresh

_DOCUMENT = """
orchestration:
  entry_team: router
  teams:
    router:
      event: routing
      tasks: [{name: a, type: set, values: {x: 1}}]
      routing: {default: quiet}
    quiet:
      tasks: [{name: b, type: set, values: {x: 1}}]
      routing: {default: executor}
    executor:
      event: executing
      tasks: [{name: c, type: set, values: {x: 1}}]
"""


async def test_the_stream_of_events_has_the_name_of_each_visit_that_has_one() -> None:
    plan = plan_of(_DOCUMENT)
    state = fresh(plan, {})
    await run(StoppingScope(plan, state, World(lambda _: {}), None))
    page = events(carried(state), 0)
    assert [(one.team, one.event) for one in page.entries if one.kind == "team"] == [
        ("router", "routing"),
        ("quiet", None),
        ("executor", "executing"),
    ]
    assert all(one.event is None for one in page.entries if one.kind != "team")
    at = clock(page.entries[0].at)
    assert list(event_lines(page.entries)) == [
        f"{at}  routing  router#1",
        f"{at}  executing  executor#1",
    ]


def test_a_name_of_an_event_is_a_text_on_one_line() -> None:
    for name, code in (('""', "E103"), ('"a\\nb"', "E214"), ('"{{ context.x }}"', "E303")):
        found = problems_of(_DOCUMENT.replace("event: routing", f"event: {name}"))
        assert [problem.code for problem in found] == [code]
