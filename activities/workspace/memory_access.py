"""Where the worker's configuration keeps what agents remember; in a file by default."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """The effective section `worker.memory`."""

    variable: str | None = None
    """The environment variable that names the database; None: a file of the worker's state."""
    address: str | None = field(default=None, repr=False)
    """Its value, a secret; None if the variable is not set."""
    project: str = "default"
    """Whose memories these are, in a database that several projects share."""
