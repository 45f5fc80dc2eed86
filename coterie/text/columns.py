"""Align columns of text."""

from collections.abc import Collection, Iterator, Sequence

from rich.cells import cell_len


def aligned(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), gap: str = "  "
) -> Iterator[str]:
    """Yield the rows as lines, each column as wide as its widest cell in a terminal.

    Args:
        rows: All of the same length.
        right: Columns to align right.
        gap: Text between two columns.
    """
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            f"{' ' * (wide - cell_len(cell))}{cell}"
            if number in right
            else f"{cell}{' ' * (wide - cell_len(cell))}"
            for number, (cell, wide) in enumerate(zip(row, widths, strict=True))
        )
        yield gap.join(cells).rstrip()
