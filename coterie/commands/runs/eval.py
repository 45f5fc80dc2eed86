"""`coterie eval`: run a suite of cases repeatedly, and compare its success rates by statistics."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from shlex import quote

from coterie.documents.worker_trust import key_names, missing_keys
from coterie.dsl.errors import nearest
from coterie.evals.baselines import Baseline, baseline_of, baseline_text, read_baseline
from coterie.evals.kept_reports import keep_report
from coterie.evals.report_text import report_text, result_line
from coterie.evals.suite import EvalSuite, trials_of
from coterie.evals.suite_document import MAX_REPEATS
from coterie.evals.suite_reader import read_suite
from coterie.evals.suite_report import SuiteReport, report_of
from coterie.evals.suite_runner import SuiteRun, run_suite
from coterie.evals.trial_results import TrialResult
from coterie.failures import CommandError, ExitCode
from coterie.gateway.console.eval_page import report_html
from coterie.gateway.identity.console_address import run_link
from coterie.interrupts import run_async
from coterie.logs import to_file
from coterie.output_files import write_output
from coterie.server.embedded_server import ServerMoved
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.problems import counted


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("suite", metavar="SUITE", help="a suite file")
    parser.add_argument(
        "--repeats",
        type=_repeats,
        metavar="N",
        help="trials of each case; default: the suite's",
    )
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME",
        help="only this variant; repeatable",
    )
    parser.add_argument(
        "--label",
        default="",
        help="part of the ids of the runs; a new label also runs cases that have results",
    )
    parser.add_argument("--baseline", metavar="FILE", help="compare with the results in this file")
    parser.add_argument("--save-baseline", metavar="FILE", help="write the results to this file")
    parser.add_argument("--html", metavar="FILE", help="write a report in one HTML file")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also fail if a comparison or a required success rate is undecided",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Run what has no result yet, then report all."""
    try:
        suite, baseline = _suite_and_baseline(args, settings)
    except KeyboardInterrupt:
        note(f"\nstopped before any trial; to run the suite, repeat: {_command(args)}")
        raise
    results = _results(args, settings, suite)
    report = report_of(results, baseline)
    keep_report(settings, suite.variants[0].document.compiled.plan.name, report)
    say(report.model_dump_json(indent=2) if args.json else report_text(report))
    if args.html is not None:
        write_output(settings.cwd, args.html, report_html(report, partial(run_link, settings)))
    if args.save_baseline is not None:
        if results.left_out or results.unjudged:
            raise CommandError("the suite is not complete, so no baseline was written")
        write_output(settings.cwd, args.save_baseline, baseline_text(baseline_of(results)))
    return _exit_code(report, strict=args.strict)


def _suite_and_baseline(args: Namespace, settings: Settings) -> tuple[EvalSuite, Baseline | None]:
    """Read what the command names, and refuse what cannot run."""
    suite = _with_options(read_suite(settings, args.suite), args)
    name = args.baseline
    baseline = None
    if name is not None:
        baseline = read_baseline(settings.cwd / name, name, suite.document.name)
    _refuse_without_keys(suite, settings)
    return suite, baseline


def _command(args: Namespace) -> str:
    return f"coterie eval {quote(args.suite)}"


def _results(args: Namespace, settings: Settings, suite: EvalSuite) -> SuiteRun:
    """Run the suite; an interruption leaves what a repeated command continues."""
    to_file(settings)
    trials = list(trials_of(suite, args.label))
    note(f"{suite.document.name}: {counted(len(trials), 'trial')}")
    try:
        return run_async(run_suite(settings, suite, trials, _note_result))
    except KeyboardInterrupt:
        note(f"\nstopped; to continue, repeat: {_command(args)}")
        raise
    except ServerMoved as moved:
        raise CommandError(f"{moved}; repeat the command to continue") from None


def _note_result(result: TrialResult) -> None:
    note(result_line(result))


def _with_options(suite: EvalSuite, args: Namespace) -> EvalSuite:
    """Apply the options to the suite."""
    variants = suite.variants
    if args.variant:
        names = [variant.name for variant in variants]
        for name in args.variant:
            if name not in names:
                raise CommandError(
                    f"{suite.shown} has no variant {name!r}; {nearest(name, names) or names}"
                )
        variants = tuple(variant for variant in variants if variant.name in args.variant)
    document = suite.document
    if args.repeats is not None:
        document = document.model_copy(update={"repeats": args.repeats})
    return replace(suite, document=document, variants=variants)


def _refuse_without_keys(suite: EvalSuite, settings: Settings) -> None:
    missing: dict[str, None] = {}
    judges = () if suite.judge is None else (suite.judge,)
    for document in (*(variant.document for variant in suite.variants), *judges):
        keys = key_names(document.compiled.plan, document.trusted)
        missing.update(dict.fromkeys(missing_keys(keys, settings)))
    _refuse(list(missing))


def _refuse(missing: Sequence[str]) -> None:
    if missing:
        raise CommandError("; ".join(missing))


def _exit_code(report: SuiteReport, *, strict: bool) -> ExitCode:
    if report.is_bad:
        return ExitCode.RUN_FAILED
    if report.unjudged:
        return ExitCode.NO_VERDICT
    return ExitCode.RUN_FAILED if strict and report.is_open else ExitCode.DONE


def _repeats(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_REPEATS:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_REPEATS}")
    return int(text)
