"""The work that every system does: one agent that improves an outline, round after round.

Each round the agent is asked with a quarter of a kilobyte and answers with two, four rules are
tried of which the last matches, and one value of the context changes.
"""

TOPIC = "what a durable run of agents costs"
SYSTEM = "You improve the outline of a report. Answer with the whole outline, and nothing else."
PROMPT = "The report is about {topic}. This is round {round}. Make the outline clearer and shorter."
PROVIDER = "scripted"
MODEL = "demo"
TEMPERATURE = 0.3
MAX_TOKENS = 4096
TIMEOUT_SECONDS = 600
RETRIES = 5

ANSWER = "".join(f"{number}. A point of the outline, made shorter.\n" for number in range(1, 49))
"""Two kilobytes, the same each time: what is measured is the way there and back."""

TALK = "".join(f"{number:3}. A sentence that adds to what was said.\n" for number in range(112))
"""Five kilobytes: what a turn of a conversation adds."""

SCRIPT = {
    "answers": [{"task": "improve", "answer": ANSWER}, {"task": "talk", "answer": TALK}],
}
"""For the scripted provider, which plays the model for every system."""
