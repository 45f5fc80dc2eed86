"""Statistics over many runs: the results of teams, strategies, decisions and tools."""

from pydantic import Field

from coterie.dsl.values import Frozen


class UseStats(Frozen):
    """How often something was done, how often it worked, and how long it took."""

    count: int = 0
    """Those that have ended."""
    succeeded: int = 0
    seconds: float = 0.0
    """Of all that have ended, together."""

    @property
    def failed(self) -> int:
        """Those that did not succeed."""
        return self.count - self.succeeded

    @property
    def mean_seconds(self) -> float | None:
        """Seconds of one; None if none has ended."""
        return self.seconds / self.count if self.count else None

    @property
    def success_rate(self) -> float | None:
        """Between 0 and 1; None if none has ended."""
        return self.succeeded / self.count if self.count else None


class TeamStats(UseStats):
    """The runs of one team."""

    team: str
    """The team or document that was started."""
    open: int = 0
    """Runs that have not ended; `count` leaves them out."""


class StrategyStats(UseStats):
    """A branch of a parallel step whose branches are alternatives."""

    team: str
    step: str
    """The parallel step."""
    branch: str
    """The strategy."""
    won: int = 0
    """How often its result was taken; only `join: best` and `join: fallback` name a winner."""
    cancelled: int = 0
    """How often it was stopped because another one had succeeded."""


class DecisionStats(UseStats):
    """The model turns of one step: a router, a planner, an agent with tools."""

    team: str
    step: str
    called: int = 0
    """Turns that called tools."""
    answered: int = 0
    """Turns that gave an answer, of an agent with tools."""
    corrected: int = 0
    """Turns that had to be repeated: an unusable answer, or one before its tools were called."""
    tokens: int = 0
    """Input and output, together."""


class ToolStats(UseStats):
    """The calls of one tool."""

    tool: str
    """The name of the function or function; that of the tool if a team, an agent or a local call is
    behind it."""
    retries: int = 0
    """Attempts after the first one of a call."""


class StatsReport(Frozen):
    """What was counted, and in which runs."""

    runs: int = 0
    """Runs that were read, newest first."""
    events: int = 0
    """Events of their histories."""
    more: bool = False
    """Whether the server has further runs that were not read."""
    unfollowed: int = 0
    """Runs of another version of Coterie, whose strategies and decisions are not counted."""
    unreadable: tuple[str, ...] = Field(default=(), max_length=20)
    """Runs whose history could not be read; the first 20."""
    teams: tuple[TeamStats, ...] = ()
    strategies: tuple[StrategyStats, ...] = ()
    decisions: tuple[DecisionStats, ...] = ()
    tools: tuple[ToolStats, ...] = ()
