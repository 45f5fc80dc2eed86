"""Labels and their sources in words: the one place that words them."""

from collections.abc import Sequence

from coterie.dsl.egress.counted_grants import WithheldGrant
from coterie.dsl.egress.met_labels import KEPT, MetLabel
from coterie.dsl.model.capabilities import KeptLabel

_WORDS: dict[KeptLabel, str] = {
    "private": "private data",
    "untrusted": "text that others wrote",
}


def label_words(label: KeptLabel) -> str:
    """Return what a label means: `private data`."""
    return _WORDS[label]


def sources_text(sources: Sequence[MetLabel]) -> str:
    """Return which calls brought what: `private data (read in a/one) and ...`."""
    parts: list[str] = []
    for label in KEPT:
        calls = ", ".join(
            f"{source.tool} in {source.step}" for source in sources if source.label == label
        )
        if calls:
            parts.append(f"{_WORDS[label]} ({calls})")
    return " and ".join(parts)


def withheld_text(withheld: Sequence[WithheldGrant]) -> str:
    """Return which grants did not count, and which tools around the call do not give them."""
    return "".join(
        f"; its grant {grant.label} does not count, because {' and '.join(grant.by)} around it "
        f"{'does' if len(grant.by) == 1 else 'do'} not grant {grant.label}"
        for grant in withheld
    )


def egress_question(tool: str, sources: Sequence[MetLabel], prompt: str | None) -> str:
    """Return what a person is asked about a call; `prompt` is the document's own question."""
    question = f"May the tool {tool!r} send this out?"
    if prompt:
        question = f"{prompt} The tool {tool!r} would send this out."
    return f"{question} The run has met {sources_text(sources)}."
