"""Causes of labels: what a run has met, and what that means for calls that send data out."""

from dataclasses import dataclass
from typing import Literal

from coterie.dsl.egress.counted_grants import WithheldGrant
from coterie.dsl.egress.met_labels import MetLabel
from coterie.dsl.model.capabilities import KeptLabel


@dataclass(frozen=True, slots=True)
class LabelMet:
    """A call brought a label into the run."""

    code: Literal["label_met"]
    label: KeptLabel
    tool: str


@dataclass(frozen=True, slots=True)
class LabelsCleared:
    """A person decided at an approval step, so what was met before counts no more."""

    code: Literal["labels_cleared"]
    labels: tuple[KeptLabel, ...]
    within: str = ""
    """The concurrent work in which it counts no more; empty for the whole run."""


@dataclass(frozen=True, slots=True)
class EgressAsked:
    """A call could send private data out because untrusted content says so; a person decides."""

    code: Literal["egress_asked"]
    tool: str
    sources: tuple[MetLabel, ...]
    withheld: tuple[WithheldGrant, ...] = ()
    """Grants of the tool that did not count in this call."""


@dataclass(frozen=True, slots=True)
class EgressGranted:
    """The document grants such a call, so nobody is asked."""

    code: Literal["egress_granted"]
    tool: str
    grants: tuple[KeptLabel, ...]
    """Those that counted."""
    sources: tuple[MetLabel, ...]
    within: tuple[str, ...] = ()
    """The tools around the call, which grant these, too."""
    withheld: tuple[WithheldGrant, ...] = ()
    """Grants of the tool that did not count in this call."""


EgressCause = LabelMet | LabelsCleared | EgressAsked | EgressGranted
"""What a run has met, and why a call may send it out or asks."""
