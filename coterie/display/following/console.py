"""A console for drawn output that no text can control, like `coterie.terminal` for lines."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from coterie.dsl.visible import visible


class SafeConsole(Console):
    """Makes control characters visible in everything that it draws, except its own codes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what the console draws, with control characters visible."""
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(visible(segment.text), segment.style)
            else:
                yield segment
