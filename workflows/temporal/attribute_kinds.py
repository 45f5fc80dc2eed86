"""The search attributes that a run has in Temporal's lists: their names and types.

Every command starts a server that knows them, so this module imports nothing.
"""

PLAN = "CoteriePlan"
STATE = "CoterieState"
TEAM = "CoterieTeam"
WAITING = "CoterieWaiting"
KINDS = {PLAN: "Keyword", STATE: "Keyword", TEAM: "KeywordList", WAITING: "KeywordList"}
"""`{attribute: its type, as the `temporal` CLI calls it}`."""
