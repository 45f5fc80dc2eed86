"""The older forms, each as a file of its own beside the same in its present form."""

from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from tests.support.engine import CAPABILITIES
from tests.support.places import DATA

FOLDER = DATA / "old_forms"
NAMES = sorted(file.name.removesuffix(".old.yml") for file in FOLDER.glob("*.old.yml"))


def compiled_text(text: str, file: str = "form.yml", *more: SourceText) -> Compiled:
    """A document laid over the common one of all forms."""
    base = SourceText("base.yml", (FOLDER / "base.yml").read_text())
    sources = [base, *more, SourceText(file, text)]
    return compile_sources(sources, CAPABILITIES, name="form")


def compiled_form(name: str, age: str) -> Compiled:
    """`name` in its `old` or its `new` form."""
    file = f"{name}.{age}.yml"
    return compiled_text((FOLDER / file).read_text(), file)
