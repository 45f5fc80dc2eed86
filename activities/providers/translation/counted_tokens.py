"""The output that a server counts, whatever it leaves out of its figure. Pure."""


def counted_output(given: int, reasoning: int, total: int, prompt: int) -> int:
    """Return the output tokens of an answer.

    Some servers leave reasoning out of the output, and bill it (xAI, Gemini): the larger of what
    is itemised and of the total without the prompt is paid.

    Args:
        given: The output, as the server says.
        reasoning: Of these, or beside these.
        total: Of the whole call; 0 if the server does not say.
        prompt: The input.
    """
    itemised = given + reasoning if reasoning > given else given
    return max(itemised, total - prompt)
