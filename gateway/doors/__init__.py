"""Other protocols by which programs reach teams: each translates, and owns no state."""
