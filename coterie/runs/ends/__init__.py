"""How runs and visits of teams end: the facts, and the one place that words them."""
