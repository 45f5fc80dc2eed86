"""Names that a reader takes for each other."""

import pytest

from coterie.dsl.look_alikes import look_alikes

ALIKE = {
    "zero width": ("ann", "an\u200bn"),
    "tag": ("ann", "ann\U000e0061"),
    "variation selector": ("ann", "ann\ufe0f"),
    "joiner": ("ann", "a\u200dnn"),
    "soft hyphen": ("ann", "a\u00adnn"),
    "filler": ("ann", "ann\u3164"),
    "direction": ("ann", "\u202eann"),
    "no-break space": ("ann lee", "ann\u00a0lee"),
    "two spaces": ("ann lee", "ann  lee"),
    "Cyrillic": ("anna", "\u0430nna"),
    "wholly Cyrillic": ("cop", "\u0441\u043e\u0440"),
    "Cyrillic capital, other case": ("anna", "\u0410NNA"),
    "Greek": ("tom", "t\u03bfm"),
    "Armenian": ("ona", "\u0585na"),
    "Cherokee": ("ALE", "\u13aaLE"),
    "full width": ("ann", "\uff41nn"),
    "mathematical": ("ann", "\U0001d41ann"),
    "dotless i": ("mia", "m\u0131a"),
    "digit one": ("paul", "pau1"),
    "capital i": ("paul", "pauI"),
    "digit zero": ("OTTO", "0TT0"),
    "digits of another script": ("ann1", "ann\u0661"),
    "r and n": ("tom", "torn"),
    "hyphen": ("ann-lee", "ann\u2010lee"),
    "apostrophe": ("o'neil", "o\u2019neil"),
}


@pytest.mark.parametrize("names", ALIKE.values(), ids=ALIKE)
def test_names_of_two_people_that_look_alike_are_found(names: tuple[str, str]) -> None:
    assert list(look_alikes(("bob", *names))) == [names]
    assert len(list(look_alikes(reversed(names)))) == 1


@pytest.mark.parametrize(
    "names",
    [
        ("ann", "Ann", "ANN", " ann "),  # one person
        ("fiona", "\ufb01ona"),  # one person
        ("jos\u00e9", "jose\u0301"),  # one person, in two forms
        ("jos\u00e9", "jose"),  # an accent is visible
        ("Ian", "Lan", "Jan"),
        ("\u0430\u043d\u043d\u0430", "anna"),
        (
            "\u0418\u0432\u0430\u043d",
            "\u0418\u0440\u0438\u043d\u0430",
            "\u041e\u043b\u044c\u0433\u0430",
        ),
        ("\u674e\u660e", "\u674e\u5a1c", "\u738b\u660e"),
        ("ann@a.example", "ann@b.example"),
        ("team-1", "team-2"),
    ],
)
def test_other_names_do_not_look_alike(names: tuple[str, ...]) -> None:
    assert list(look_alikes(names)) == []
