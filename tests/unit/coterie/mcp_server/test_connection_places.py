"""Connections without the token compete only with each other, those with it only with those."""

from coterie.http_server.http_connections import ConnectionPlaces


def opened(places: ConnectionPlaces[int], *addresses: str) -> list[int | None]:
    return [places.open(number, address) for number, address in enumerate(addresses)]


def test_the_oldest_stranger_of_an_address_makes_room_for_its_next() -> None:
    places = ConnectionPlaces[int](9, 2, 9)
    assert opened(places, "a", "b", "a", "a", "b", "a") == [None, None, None, 0, None, 2]


def test_the_oldest_stranger_of_the_busiest_address_makes_room_for_all() -> None:
    places = ConnectionPlaces[int](3, 2, 9)
    assert opened(places, "b", "a", "a", "c", "d") == [None, None, None, 1, 0]


def test_strangers_never_take_the_place_of_an_authorized_connection() -> None:
    places = ConnectionPlaces[int](2, 2, 2)
    assert opened(places, "a") == [None]
    assert places.authorize(0)
    for number in range(1, 100):
        evicted = places.open(number, "a")
        assert evicted == (number - 2 if number > 2 else None)
    assert places.authorize(0)
    assert places.authorize(99)
    assert not places.authorize(98)
    places.close(0)
    assert places.authorize(98)


def test_a_closed_stranger_leaves_its_place() -> None:
    places = ConnectionPlaces[int](1, 1, 1)
    assert opened(places, "a") == [None]
    places.close(0)
    places.close(0)
    assert places.open(1, "a") is None
