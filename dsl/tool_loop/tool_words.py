"""The words of names and texts, reduced to stems, so that a search finds other forms of them. Pure.

English only: the names and descriptions of tools are written for models.
"""

import re
import unicodedata
from collections.abc import Iterator

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
"""`getHTTPOrder_v2`: get, HTTP, Order, v, 2."""
_MAX_WORD = 40
_STOP_WORDS = """
a about all am an and any are as at be been being by can could do does for from has have her him his
how i if in into is it its let me my need needs no not of on one or our out please should so some
that the their them then there these they this to up us want wants was we were what when where which
who whose will with would you your
"""
_STOPS = frozenset(_STOP_WORDS.split())
_VOWEL = re.compile(r"[aeiouy]")
_ENDINGS = ("ation", "ment", "ing", "ion", "ed", "al", "ly", "y")
"""Of words that have lost their plural."""
_MIN_STEM = 3
_IRREGULAR = {
    "began": "begin", "begun": "begin", "bought": "buy", "broke": "break", "broken": "break",
    "brought": "bring", "built": "build", "came": "come", "chose": "choose", "chosen": "choose",
    "drank": "drink", "drove": "drive", "driven": "drive", "ate": "eat", "eaten": "eat",
    "forgot": "forget", "forgotten": "forget", "found": "find", "gave": "give", "given": "give",
    "got": "get", "held": "hold", "kept": "keep", "knew": "know", "known": "know",
    "left": "leave", "lent": "lend", "lost": "lose", "made": "make", "met": "meet",
    "paid": "pay", "ran": "run", "said": "say", "saw": "see", "seen": "see", "sent": "send",
    "sold": "sell", "spent": "spend", "stole": "steal", "stolen": "steal", "told": "tell",
    "took": "take", "taken": "take", "went": "go", "gone": "go", "wrote": "write",
    "written": "write",
}  # fmt: skip

_SAME_WORDS = (
    ("get", "read", "fetch", "retrieve", "show", "view", "look", "see", "display", "tell"),
    ("list", "browse", "find", "search", "query", "enumerate", "overview"),
    ("create", "add", "new", "make", "register", "insert", "open", "put", "set"),
    ("update", "change", "edit", "modify", "correct", "adjust", "amend", "rename", "replace"),
    ("delete", "remove", "drop", "discard", "erase", "rid"),
    ("cancel", "revoke", "withdraw", "abort", "undo"),
    ("send", "post", "mail", "deliver", "notify", "message"),
    ("pay", "charge", "bill", "invoice", "money"),
    ("refund", "reimburse", "return", "back"),
    ("price", "rate", "cost", "fee", "expensive"),
    ("user", "member", "account", "person", "people", "somebody"),
    ("customer", "client", "guest", "buyer", "visitor"),
    ("employee", "staff", "worker", "colleague"),
    ("file", "document", "attachment"),
    ("picture", "image", "photo"),
    ("product", "item", "goods", "article"),
    ("assign", "allocate", "give"),
    ("book", "reserve", "reservation", "appointment"),
    ("exchange", "convert", "swap", "switch"),
    ("receive", "arrive", "accept"),
    ("lose", "forget", "miss"),
    ("history", "audit", "log", "trail"),
    ("repair", "fix", "maintain"),
    ("start", "begin", "run", "launch"),
    ("stop", "end", "halt", "finish"),
)
"""Words that callers and authors of APIs use for one thing."""


def stems(text: str) -> Iterator[str]:
    """Yield the stems of a text's words, in their order, without words that say nothing."""
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        lower = word.lower()
        if lower not in _STOPS:
            yield stem(lower[:_MAX_WORD])


def stem(word: str) -> str:
    """Return the stem of a lower-case word: `cancelled`, `cancels`, `cancellation`: `cancel`."""
    if len(word) <= _MIN_STEM or not word.isascii():
        return word
    word = _IRREGULAR.get(word, word)
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in _ENDINGS:
        head = word.removesuffix(ending)
        least = _MIN_STEM + (len(ending) not in (2, 3, 4))
        if head != word and len(head) >= least and _VOWEL.search(head):
            word = head
            break
    word = word.removesuffix("e") if len(word) > _MIN_STEM else word
    if len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "aeiou":
        word = word[:-1]
    return word


def related(word: str) -> tuple[str, ...]:
    """Return the stems of other words for the same thing."""
    return _RELATED.get(word, ())


def _words_of_groups() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for words in _SAME_WORDS:
        group = tuple(dict.fromkeys(map(stem, words)))
        for own in group:
            others = tuple(other for other in group if other != own)
            table[own] = tuple(dict.fromkeys((*table.get(own, ()), *others)))
    return table


_RELATED = _words_of_groups()
