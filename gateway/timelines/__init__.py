"""When the calls of runs began and ended: bars, read from histories once."""
