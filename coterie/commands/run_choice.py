"""The arguments that choose runs by team and age, and many runs in place of one."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from coterie.arguments import age_given
from coterie.failures import CommandError
from coterie.runs.run_list import FilterState, RunFilter


def add_team_and_ages(parser: ArgumentParser, when: str = "") -> None:
    """Add the team and the ages of runs.

    Args:
        parser: Of the command.
        when: With what they apply, for their help.
    """
    parser.add_argument("--team", help=f"{when}only runs of this team, or runs that are in it now")
    parser.add_argument(
        "--newer-than",
        type=age_given,
        metavar="AGE",
        help=f"{when}only runs that started within this time, such as 2h or 3d",
    )
    parser.add_argument(
        "--older-than",
        type=age_given,
        metavar="AGE",
        help=f"{when}only runs that started before this time, such as 2h or 3d",
    )


def add_many_runs(parser: ArgumentParser, option: str, which: str) -> None:
    """Add an optional run, and the option that chooses many in its place.

    Args:
        parser: Of the command.
        option: Its name, such as `--failed`.
        which: What it chooses.
    """
    parser.add_argument("run", nargs="?", metavar="RUN", help=f"the run's id; or {option}")
    parser.add_argument(
        option, dest="many", action="store_true", help=f"instead of RUN: {which} that matches"
    )
    add_team_and_ages(parser, f"with {option}: ")
    parser.add_argument(
        "--yes", action="store_true", help=f"with {option}: begin without a question"
    )


def chosen_many(
    args: Namespace,
    option: str,
    state: FilterState,
    *,
    for_one: Mapping[str, bool],
    for_many: Mapping[str, bool] | None = None,
) -> RunFilter | None:
    """Return which runs were chosen; None for one.

    Args:
        args: The arguments of `add_many_runs`.
        option: The option that chooses many.
        state: Of the runs that it chooses.
        for_one: Whether each option was given that applies to one run only.
        for_many: The same for many runs.

    Raises:
        CommandError: Neither or both are chosen, or an option would have no effect.
    """
    if args.many == (args.run is not None):
        raise CommandError(f"name a RUN, or choose many with {option}")
    without_many = {
        "--team": args.team is not None,
        "--newer-than": args.newer_than is not None,
        "--older-than": args.older_than is not None,
        "--yes": args.yes,
        **(for_many or {}),
    }
    for name, is_given in (for_one if args.many else without_many).items():
        if is_given:
            where = "for one RUN only" if args.many else f"with {option} only"
            raise CommandError(f"{name} works {where}; leave it out")
    if not args.many:
        return None
    return RunFilter(state, args.team, args.newer_than, args.older_than)
