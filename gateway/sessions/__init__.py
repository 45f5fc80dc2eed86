"""Messages of people to teams: what a text means, and sessions that get it once."""
