"""Exits of teams: where a run goes from a team, and when."""

from typing import NamedTuple


class Exit(NamedTuple):
    """One exit of a team."""

    targets: tuple[str, ...]
    """The next team, or the branches of a fan-out; none is the end."""
    rule: int | None
    """The number of the rule, from 0; None for the default and for the end without a rule."""
    updates: tuple[str, ...] = ()
    """The context paths that it sets."""
    fans_out: bool = False
    concentrator: str | None = None
    """Where the branches meet; None: the run ends with them."""
    usable: bool = True
    """Whether it can be taken at all."""
    after_success: bool = False
    """Whether it can be taken when no task failed."""
    at_any_time: bool = False
    """Whether it is taken in the middle of the team's steps: nobody decided in time, or a budget is
    used up."""
    task: str | None = None
    """The only step of the team in the middle of which it is taken; None for each of them."""
    leaves_all: bool = False
    """Whether the run also leaves the calls and branches around the team."""

    @property
    def visited(self) -> tuple[str, ...]:
        """Return the teams that this exit certainly visits next."""
        return self.targets if self.concentrator is None else (*self.targets, self.concentrator)
