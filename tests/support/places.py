"""Where the repository is, and what its tests read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
"""Corpora and sample projects."""

HISTORIES = ROOT / "tests" / "replay" / "histories"
"""Recorded runs."""
