"""Find names that a reader takes for each other, by the shapes of their characters.

A name is reduced to a skeleton: compatible forms and scripts to the letters of ASCII that they look
like, invisible characters to nothing. Names with the same skeleton look alike. The table has the
letters of other scripts that common fonts draw like ASCII; marks such as accents stay.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from coterie.dsl.person_names import person_key
from coterie.dsl.visible import without_invisible

_LIKE = {
    "a": "\u0430\u03b1\u0251",
    "b": "\u044c\u042c\u0184",
    "c": "\u0441\u03f2\u1d04",
    "d": "\u0501",
    "e": "\u0435\u212e",
    "g": "\u0261\u0581",
    "h": "\u04bb\u0570",
    "i": "\u0456\u0131\u03b9\u0269\u026a",
    "j": "\u0458\u03f3\u0575",
    "k": "\u043a\u03ba",
    "l": "\u04cf\u04c0\u01c0\u2223",
    "m": "\u043c",
    "n": "\u043f\u03b7\u0578",
    "o": "\u043e\u03bf\u0585\u1d0f",
    "p": "\u0440\u03c1",
    "q": "\u051b\u0566",
    "r": "\u0433",
    "s": "\u0455",
    "t": "\u0442\u03c4",
    "u": "\u03c5\u057d\u1d1c",
    "v": "\u0475\u03bd\u1d20",
    "w": "\u051d\u0461\u1d21\u03c9",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03b3\u04af",
    "A": "\u0410\u0391\u13aa",
    "B": "\u0412\u0392\u13f4",
    "C": "\u0421\u03f9\u13df",
    "D": "\u13a0",
    "E": "\u0415\u0395\u13ac",
    "F": "\u03dc",
    "G": "\u050c\u13c0",
    "H": "\u041d\u0397\u13bb",
    "I": "\u0406\u0399",
    "J": "\u0408\u13ab",
    "K": "\u041a\u039a\u13e6",
    "L": "\u13de",
    "M": "\u041c\u039c\u13b7",
    "N": "\u039d",
    "O": "\u041e\u039f\u0555",
    "P": "\u0420\u03a1\u13e2",
    "Q": "\u051a",
    "R": "\u13a1",
    "S": "\u0405\u054f\u13da",
    "T": "\u0422\u03a4\u13a2",
    "U": "\u054d",
    "V": "\u0474\u13d9",
    "W": "\u051c\u13b3",
    "X": "\u0425\u03a7",
    "Y": "\u0423\u03a5\u04ae",
    "Z": "\u0396\u13c3",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212\u30fc",
    "'": "\u2018\u2019\u02bc\u02b9\u2032\u0060\u00b4",
    ".": "\u0701\u06d4",
    "_": "\uff3f",
}
_LETTERS = {ord(other): letter for letter, others in _LIKE.items() for other in others}
_WITHIN_ASCII = str.maketrans({"0": "O", "1": "l", "I": "l", "|": "l"})
"""Letters and digits that look alike in one case only."""
_PAIRS = (("rn", "m"), ("vv", "w"))
_BLANKS = re.compile(r"\s+")


def look_alikes(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names of different people that look alike, and each name once at most."""
    names_by_key: dict[str, str] = {}
    for name in names:
        earlier_name = next(
            (names_by_key[key] for key in _skeletons(name) if key in names_by_key), None
        )
        if earlier_name is not None and person_key(earlier_name) != person_key(name):
            yield earlier_name, name
        for key in _skeletons(name):
            names_by_key.setdefault(key, name)


def _skeletons(name: str) -> tuple[str, str]:
    """Return what the name looks like: without regard to case, and with more letters alike."""
    plain = unicodedata.normalize("NFKD", without_invisible(name))
    plain = "".join(_as_digit(character) for character in plain.translate(_LETTERS))
    plain = _BLANKS.sub(" ", unicodedata.normalize("NFKC", plain)).strip()
    shape = plain.translate(_WITHIN_ASCII)
    for pair, character in _PAIRS:
        shape = shape.replace(pair, character)
    return f"={plain.casefold()}", shape


def _as_digit(character: str) -> str:
    """Return a digit of any script as that of ASCII."""
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)
