"""Print the cents that a customer gets back: 1 % of the price less for each day after the 30th."""

import sys

cents, days = int(sys.argv[1]), int(sys.argv[2])
late = max(days - 30, 0)
print(cents * max(100 - late, 0) // 100)
