"""What a run has used, as people read it: aligned, and never zero where nobody knows."""

from inline_snapshot import snapshot

from coterie.rendering.cost_tables import cost_text, money_text
from coterie.workflows.core.views import BudgetUse, CostReport, CostRow

PRICED = CostRow(
    name="a/write",
    calls=3,
    input_tokens=12000,
    output_tokens=900,
    cached_tokens=4000,
    cost=0.0315,
    seconds=12.4,
)
REPORT = CostReport(
    total=CostRow(
        name="total",
        calls=7,
        input_tokens=12500,
        output_tokens=950,
        cost=0.0315,
        unpriced=1,
        unreported=1,
        seconds=75.0,
    ),
    tasks=(
        PRICED,
        CostRow(name="a/ask", calls=1, input_tokens=500, output_tokens=50, unpriced=1),
        CostRow(name="a/old", calls=1, unreported=1),
        CostRow(name="a/find", calls=2, seconds=1.5),
    ),
    left_out={"tasks": 12},
    budgets=(
        BudgetUse(id="run.tokens", used=13450, limit=20000, on_exceeded="stop"),
        BudgetUse(
            id="team.a.money",
            used=0.0315,
            limit=1,
            on_exceeded="ask",
            state="not_held",
            extended=0.5,
        ),
    ),
)


def test_a_report_is_a_table_and_its_budgets() -> None:
    assert cost_text("r1", REPORT, over=True) == snapshot("""\
r1: 0.0315 USD and unpriced calls
                 calls  tokens in  cached  tokens out                USD      worked
  by task
    a/write          3     12,000   4,000         900             0.0315        12 s
    a/ask            1        500       -          50           unpriced         0 s
    a/old            1          -       -           -       not reported         0 s
    a/find           2          -       -           -                  -       1.5 s
    and 12 more
  total              7     12,500       -         950  0.0315 + unpriced  1 min 15 s
  1 call without a price, not in the sum (see `prices`)
  1 turn of agents that do not report usage
  budget   run.tokens: 13,450 of 20,000 tokens (67%); then: stop
  budget   team.a.money: 0.0315 of 1.00 USD (3%), NOT HELD, extended by 0.50 USD; then: ask\
""")


def test_unknown_usage_is_not_shown_as_zero() -> None:
    assert money_text(0.0, unpriced=False) == "0.00 USD"
    assert money_text(None, unpriced=True) == "unpriced"
    assert money_text(0.5, unpriced=True) == "0.50 USD and unpriced calls"
