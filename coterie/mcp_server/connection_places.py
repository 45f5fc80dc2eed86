"""Which connections of clients may stay open: those that showed the token, and a few young others.

Anybody on this machine can open connections and send nothing. They compete only with each other:
when there are too many, the oldest of the address with the most makes room.
"""

from typing import Generic, TypeVar

Connection = TypeVar("Connection")


class ConnectionPlaces(Generic[Connection]):
    """The open connections, each in one of two kinds of places."""

    def __init__(self, strangers: int, per_address: int, authorized: int) -> None:
        """Take the greatest numbers of each kind."""
        self._max_strangers = strangers
        self._max_per_address = per_address
        self._max_authorized = authorized
        self._strangers: dict[Connection, str] = {}
        """With their addresses, oldest first."""
        self._authorized: set[Connection] = set()

    def open(self, connection: Connection, address: str) -> Connection | None:
        """Give a new connection the place of a stranger.

        Returns:
            The stranger that must be closed for it.
        """
        self._strangers[connection] = address
        addresses = list(self._strangers.values())
        if addresses.count(address) > self._max_per_address:
            return self._oldest_of(address)
        if len(addresses) > self._max_strangers:
            return self._oldest_of(max(dict.fromkeys(addresses), key=addresses.count))
        return None

    def authorize(self, connection: Connection) -> bool:
        """Move a connection that showed the token; False if all those places are taken."""
        if connection in self._authorized:
            return True
        if len(self._authorized) >= self._max_authorized:
            return False
        self._strangers.pop(connection, None)
        self._authorized.add(connection)
        return True

    def close(self, connection: Connection) -> None:
        """Free the place of a connection."""
        self._strangers.pop(connection, None)
        self._authorized.discard(connection)

    def _oldest_of(self, address: str) -> Connection:
        found = next(one for one, its in self._strangers.items() if its == address)
        del self._strangers[found]
        return found
