"""An agent type: an async function that takes a turn and returns its result."""

from collections import Counter

from coterie import AgentFailure, AgentFunction, AgentTurn

VOTES = 3


async def majority(turn: AgentTurn) -> dict[str, object]:
    """Ask the model several times, and answer what it said most often."""
    said = [await turn.ask(f"{turn.prompt}\n(answer {vote})") for vote in range(VOTES)]
    [(answer, votes)] = Counter(text.splitlines()[0] for text in said).most_common(1)
    if votes == 1:
        raise AgentFailure(f"{VOTES} answers, all different")
    return {"answer": answer, "votes": votes}


_: AgentFunction = majority  # a type checker compares the signatures
