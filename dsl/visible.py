r"""Make control characters of untrusted text visible, so that it cannot control a terminal.

A control character becomes its JSON escape (`\u001b`): text within JSON keeps its meaning, and a
second pass changes nothing.
"""

import re

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, without tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029"  # separators of lines and paragraphs
    "\ud800-\udfff]"  # halves of characters, which cannot be sent to a terminal
)


def visible(text: str) -> str:
    """Return the text with every control character but newline and tab escaped."""
    return _CONTROL.sub(_escape, text)


def one_line(text: str) -> str:
    """Return the text visible and on one line: line breaks become blanks."""
    return visible(" ".join(text.split("\n")))


def hanging(text: str, margin: str) -> str:
    """Return the text visible, with every line but the first behind a margin."""
    return visible(text).replace("\n", f"\n{margin}")


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
