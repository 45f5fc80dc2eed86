"""Bounds of deliveries: how many of one webhook, and how many at once."""

import asyncio

import pytest

from coterie.gateway.doors.webhooks.delivery_limits import DeliveryPlaces, DeliveryRates
from coterie.gateway.operations.error_reports import Rejection


class Clock:
    """A clock that tests set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_webhook_takes_a_burst_and_then_a_rate_of_its_own() -> None:
    clock = Clock()
    rates = DeliveryRates(clock, burst=3, per_second=2.0)

    def taken(webhook: str) -> bool:
        try:
            rates.take(webhook)
        except Rejection as error:
            return error.status != 429
        return True

    assert [taken("a") for _ in range(5)] == [True, True, True, False, False]
    assert taken("b")
    clock.now = 0.5
    assert [taken("a") for _ in range(2)] == [True, False]
    clock.now = 100.0
    assert [taken("a") for _ in range(4)] == [True, True, True, False]


async def test_a_delivery_waits_for_a_place_of_its_webhook_and_not_for_ever() -> None:
    places = DeliveryPlaces(places=1, wait=0.01)
    async with places.place("shop/placed"):
        async with places.place("shop/paid"):
            pass
        with pytest.raises(Rejection) as refused:
            async with places.place("shop/placed"):
                pass
    assert (refused.value.status, refused.value.code) == (503, "too_busy")
    order: list[int] = []

    async def work(number: int) -> None:
        async with patient.place("shop/placed"):
            order.append(number)

    patient = DeliveryPlaces(places=2, wait=30)
    await asyncio.gather(*(work(number) for number in range(10)))
    assert sorted(order) == list(range(10))
