"""Columns of text that line up."""

from collections.abc import Collection, Iterator, Sequence

from rich.cells import cell_len


def aligned(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), gap: str = "  "
) -> Iterator[str]:
    """The rows as lines, each column as wide as its widest cell in a terminal.

    Args:
        rows: all of one length.
        right: the columns whose cells stand at their right end.
        gap: between two columns.
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
