"""What the worker's configuration allows tool functions to reach on the web; nothing by default."""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class WebAccess:
    """The effective section `worker.web`."""

    fetch: bool = False
    """Whether `Web.fetch` may read pages."""
    search: bool = False
    """Whether `Web.search` may ask search engines."""
    arxiv: bool = False
    """Whether `Arxiv.search` may ask arxiv.org."""
    hosts: tuple[str, ...] = ()
    """Globs of the only hosts that `Web.fetch` reads; empty for all public ones."""
    private_hosts: tuple[str, ...] = ()
    """Hosts (`name` or `name:port`) that `Web.fetch` may read although their addresses are
    private."""
    robots: bool = True
    """Whether `Web.fetch` respects the `robots.txt` of a site."""
    engines: tuple[str, ...] = ()
    """The search engines of `Web.search`; empty for all."""
    push_hosts: tuple[str, ...] = ()
    """Globs of the only hosts to which A2A clients may have states sent."""

    def may_read(self, host: str) -> bool:
        """Return whether `Web.fetch` may read pages of a host."""
        name = host.casefold().rstrip(".")
        if not self.hosts or any(name == entry.partition(":")[0] for entry in self.private_hosts):
            return True
        return any(fnmatchcase(name, glob.casefold()) for glob in self.hosts)

    def may_push_to(self, host: str) -> bool:
        """Return whether the states of tasks may be sent to a host."""
        name = host.casefold().rstrip(".")
        return any(fnmatchcase(name, glob.casefold()) for glob in self.push_hosts)

    def may_be_private(self, host: str, port: int) -> bool:
        """Return whether a host may have a private address."""
        name = host.casefold().rstrip(".")
        return name in self.private_hosts or f"{name}:{port}" in self.private_hosts
