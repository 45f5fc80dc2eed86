"""Judge an address by a site's `robots.txt`."""

from functools import lru_cache

from protego import Protego

from coterie.activities.tool_functions.web.page_work import RobotsQuestion


def allows(question: RobotsQuestion) -> bool:
    """Return whether the file allows the product to read the address."""
    return _rules(question.text).can_fetch(question.url, question.product)


@lru_cache(maxsize=32)
def _rules(text: str) -> Protego:
    return Protego.parse(text)
