"""Output of any length is kept as its head and its tail, cut at line ends."""

import pytest

from coterie.activities.processes.bounded_output import BoundedOutput


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([], ""),
        ([b"0123456789"], "0123456789"),
        ([b"012345", b"6789"], "0123456789"),
        ([b"0123456789a"], "0123\n[... 1 of 11 bytes cut ...]\n56789a"),
        ([bytes([65 + n]) for n in range(26)], "ABCD\n[... 16 of 26 bytes cut ...]\nUVWXYZ"),
        ([b"a\nbcdefg\nij"], "a\n[... 7 of 11 bytes cut ...]\nij"),
        ([b"abc\ndefgh\nj"], "abc\n[... 6 of 11 bytes cut ...]\nj"),
        ([b"abcdefghij\n"], "abcd\n[... 1 of 11 bytes cut ...]\nfghij\n"),
        ([b"\xff", b"\xc3", b"\xa9"], "\ufffd\u00e9"),
        ([b"\xff23456789\xff!"], "\ufffd234\n[... 1 of 11 bytes cut ...]\n6789\ufffd!"),
    ],
)
def test_a_long_output_keeps_its_ends_and_counts_what_is_missing(
    chunks: list[bytes], text: str
) -> None:
    output = BoundedOutput(head=4, tail=6)
    for chunk in chunks:
        output.take(chunk)
    assert output.text() == text
    assert output.total == sum(map(len, chunks))
    assert output.cut is ("bytes cut" in text)
