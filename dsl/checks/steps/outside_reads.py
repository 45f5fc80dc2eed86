"""What the templates and conditions of a team read that others write."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OutsideReads:
    """Paths that are read, in order."""

    context: dict[str, None] = field(default_factory=dict[str, None])
    """Paths of the context; the empty path is the whole context."""
    teams: dict[str, None] = field(default_factory=dict[str, None])
    """Paths below `teams`: outcomes of earlier teams."""

    def add(self, other: "OutsideReads") -> None:
        """Add what is read elsewhere, too."""
        self.context.update(other.context)
        self.teams.update(other.teams)
