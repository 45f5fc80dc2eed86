import unittest

from postage import price


class Postage(unittest.TestCase):
    def test_a_step_includes_its_weight(self) -> None:
        self.assertEqual([price(grams) for grams in (1, 1_000, 1_001, 2_000)], [399, 399, 549, 549])

    def test_the_heaviest_parcel_has_a_price(self) -> None:
        self.assertEqual(price(5_000), 799)

    def test_a_heavier_parcel_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            price(5_001)
