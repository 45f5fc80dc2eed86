"""Report what a skill collected for prompts, before a model reads it."""

from collections.abc import Iterator, Mapping

from coterie.text.problems import counted
from coterie.workflows.core.views import TrailEntry

LARGE_SHARE = 0.5
"""Share of a model's context window; prompts, history and the answer need the rest."""


def found_lines(entry: TrailEntry, windows: Mapping[str, int]) -> Iterator[str]:
    """Yield the size, and a warning for each model whose context window it mostly fills.

    Args:
        entry: The trail entry for the end of the step.
        windows: Known context windows, `{provider/model: tokens}`.
    """
    found = entry.found
    if found is None:
        return
    tokens = found.estimated_tokens
    yield (
        f"{entry.team}/{entry.step}: {counted(found.files, 'file')}, "
        f"about {counted(tokens, 'token')} (estimated: 4 bytes per token)"
    )
    for model in found.models:
        window = windows.get(model)
        if window is not None and tokens > LARGE_SHARE * window:
            yield (
                f"warning: in a prompt, this takes about {tokens / window:.0%} of the context of "
                f"{model} ({counted(window, 'token')}); collect less with `include`, `exclude` "
                "or `max_bytes`"
            )
