"""The names under which the person at the terminal decides: each is asked for once."""

from collections.abc import Sequence

from coterie.dsl.person_names import is_among


class DecidingNames:
    """Remembers the names that a person has given."""

    def __init__(self, login: str, given: str | None = None) -> None:
        """Start with the login name.

        Args:
            login: Counts where nobody is named.
            given: The person's name for all decisions, if `--by` gives one.
        """
        self.login = given or login
        self._fixed = given is not None
        self._known = [self.login]

    def allowed(self, approvers: Sequence[str]) -> str | None:
        """Return the first known name that may decide; None if the person must give another."""
        if self._fixed or not approvers:
            return self.login
        return next((name for name in self._known if is_among(name, approvers)), None)

    def add(self, name: str) -> None:
        """Remember a name for further decisions."""
        self._known.append(name)
