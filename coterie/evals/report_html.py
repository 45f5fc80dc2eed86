"""Write the report of a suite as one HTML file, without scripts and without other files."""

from collections.abc import Iterable
from html import escape

from coterie.dsl.model.budgets import column_money
from coterie.dsl.visible import visible
from coterie.evals.report_text import (
    change_text,
    judges_text,
    percent,
    target_text,
    unjudged_texts,
)
from coterie.evals.suite_report import FailedTrial, RateRow, SuiteReport, VariantReport
from coterie.text.problems import counted

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .8rem 0; width: 100%; }
th, td { border-bottom: 1px solid #8884; padding: .3rem .6rem; text-align: right; }
th:first-child, td:first-child, .left td { text-align: left; }
tr.all td { font-weight: 600; }
.bar { background: #8883; height: .7rem; min-width: 9rem; position: relative; }
.bar i, .bar b { display: block; height: 100%; position: absolute; }
.bar i { background: #4a90d988; }
.bar b { background: #1b5fa8; width: 2px; }
.worse, .missed { color: #c0392b; }
.better, .met { color: #1e8449; }
@media (prefers-color-scheme: dark) { body { background: #181a1b; color: #e8e6e3; } }
"""
_HEADS = ("case", "passed", "rate", "95 % interval", "", "model calls", "tokens", "time", "cost")


def report_html(report: SuiteReport) -> str:
    """Return the report as an HTML document; every text in it is escaped."""
    title = f"Eval of {_text(report.suite)}"
    body = "".join(_variant(variant, report) for variant in report.variants)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{title}</h1><p>Team {_text(report.team)}, {_repeats(report)}.</p>\n"
        f"{_left_out(report)}{_judges(report)}{body}{_failures(report.failures)}</body></html>\n"
    )


def _repeats(report: SuiteReport) -> str:
    return f"{counted(report.repeats, 'repeat')} of each case"


def _left_out(report: SuiteReport) -> str:
    if not report.left_out:
        return ""
    trials = counted(report.left_out, "trial")
    return f'<p class="missed">The budget is used up: {trials} did not start.</p>\n'


def _judges(report: SuiteReport) -> str:
    lines = [f"<p>{_text(judges_text(report))}</p>\n"] if report.judge_calls else []
    lines += [f'<p class="missed">{_text(text)}</p>\n' for text in unjudged_texts(report)]
    return "".join(lines)


def _variant(variant: VariantReport, report: SuiteReport) -> str:
    heads = "".join(f"<th>{_text(head)}</th>" for head in _HEADS)
    rows = "".join(_row(row) for row in variant.cases)
    sentences: list[str] = []
    if variant.target is not None:
        text = target_text(variant, report.at_least or 0.0)
        sentences.append(_sentence(variant.target, text))
    if variant.change is not None:
        text = change_text(variant.change, report.margin)
        sentences.append(_sentence(variant.change.verdict, text))
    return (
        f"<h2>{_text(variant.total.name)}</h2>\n{''.join(sentences)}"
        f"<table><tr>{heads}</tr>{rows}{_row(variant.total, 'all')}</table>\n"
    )


def _sentence(kind: str, text: str) -> str:
    return f'<p class="{_text(kind)}">{_text(text)}</p>\n'


def _row(row: RateRow, name: str | None = None) -> str:
    cells = (
        _text(name or row.name),
        f"{row.passed}/{row.trials}",
        percent(row.rate),
        f"{percent(row.low)} to {percent(row.high)}",
        _bar(row),
        f"{row.model_calls:.1f}",
        f"{row.tokens:,.0f}",
        f"{row.seconds:.1f} s",
        "-" if row.cost is None else f"${column_money(row.cost)}",
    )
    mark = ' class="all"' if name else ""
    return f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"


def _bar(row: RateRow) -> str:
    """Draw the interval, and the rate in it."""
    left, width = 100 * row.low, 100 * (row.high - row.low)
    return (
        f'<div class="bar"><i style="left:{left:.1f}%;width:{width:.1f}%"></i>'
        f'<b style="left:{100 * row.rate:.1f}%"></b></div>'
    )


def _failures(failures: Iterable[FailedTrial]) -> str:
    rows = "".join(
        f"<tr><td>{_text(failure.variant)}</td><td>{_text(failure.case)} #{failure.repeat}</td>"
        f"<td>{_text(failure.because)}</td><td><code>{_text(failure.run)}</code></td></tr>\n"
        for failure in failures
    )
    if not rows:
        return "<p>Every trial succeeded.</p>\n"
    heads = "<tr><th>variant</th><th>trial</th><th>why it failed</th><th>run</th></tr>"
    return f'<h2>Failed trials</h2>\n<table class="left">{heads}{rows}</table>\n'


def _text(text: str) -> str:
    """Return a text from anywhere, harmless in HTML: escaped, control characters made visible."""
    return escape(visible(text))
