"""What a skill has found for prompts, told before a model reads it."""

from collections.abc import Iterator, Mapping

from coterie.text.problems import counted
from workflows.core.views import TrailEntry

LARGE_SHARE = 0.5
"""Of a model's context; prompts, history and the answer need the rest."""


def found_lines(entry: TrailEntry, windows: Mapping[str, int]) -> Iterator[str]:
    """How much it is, and a warning for each model whose context it mostly fills.

    Args:
        entry: the end of the step that found it.
        windows: `{provider/model: tokens of its context}`, of those that are known.
    """
    found = entry.found
    if found is None:
        return
    tokens = found.estimated_tokens
    yield (
        f"{entry.team}/{entry.step}: {counted(found.files, 'file')}, "
        f"about {counted(tokens, 'token')} (estimated: a token for 4 bytes)"
    )
    for model in found.models:
        window = windows.get(model)
        if window is not None and tokens > LARGE_SHARE * window:
            yield (
                f"warning: in a prompt that is about {tokens / window:.0%} of the context of "
                f"{model} ({counted(window, 'token')}); collect less with `include`, `exclude` "
                "or `max_bytes`"
            )
