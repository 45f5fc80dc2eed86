r"""Make control and invisible characters of untrusted text visible.

Then it cannot control a terminal, and nothing is hidden in it. Such a character becomes its JSON
escape (`\u001b`): text within JSON keeps its meaning, and a second pass changes nothing.
"""

import re

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, without tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029"  # separators of lines and paragraphs
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # without any width
    "\U000e0000-\U000e0fff"  # tags and selectors, which can carry a whole hidden text
    "\ud800-\udfff"  # halves of characters, which cannot be sent to a terminal
)
_JOINERS, _SELECTORS = "\u200c\u200d", "\ufe00-\ufe0f"
_NO_LETTER = f"\x00-\x7f{_HIDDEN}{_JOINERS}"
_NOT_OF_EMOJI = f"\x00-\x22\x24-\x29\x2b-\x2f\x3a-\x7f{_HIDDEN}{_JOINERS}{_SELECTORS}"
_CONTROL = re.compile(
    f"[{_HIDDEN}]"
    f"|(?<![^{_NO_LETTER}])[{_JOINERS}]|[{_JOINERS}](?![^{_NO_LETTER}])"  # but within a script
    f"|(?<![^{_NOT_OF_EMOJI}])[{_SELECTORS}]"
)


_INVISIBLE = re.compile(f"[{_HIDDEN}{_JOINERS}{_SELECTORS}]")


def visible(text: str) -> str:
    """Return the text with every control and invisible character but newline and tab escaped."""
    count = 1
    while count:  # what is escaped may have been the neighbour of a joiner
        text, count = _CONTROL.subn(_escape, text)
    return text


def without_invisible(text: str) -> str:
    """Return the text without every control and invisible character."""
    return _INVISIBLE.sub("", text)


def one_line(text: str) -> str:
    """Return the text visible and on one line: line breaks become blanks."""
    return visible(" ".join(text.split("\n")))


def shortened_text(text: str, length: int) -> str:
    """Return the first characters of a text, with a mark that says how many others follow."""
    remaining = len(text) - length
    return text if remaining <= 0 else f"{text[:length]} [cut off: {remaining:,} more characters]"


def visible_name(name: str) -> str:
    """Return a name visible, with its line breaks and tabs escaped as well."""
    return visible(name).replace("\n", "\\u000a").replace("\t", "\\u0009")


def hanging(text: str, margin: str) -> str:
    """Return the text visible, with every line but the first behind a margin."""
    return visible(text).replace("\n", f"\n{margin}")


def is_unicode(text: str) -> bool:
    """Return whether UTF-8 can carry the text: it has no half of a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape(match: re.Match[str]) -> str:
    halves = match.group().encode("utf-16-be", errors="surrogatepass").hex()
    return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))
