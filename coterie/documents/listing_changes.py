"""Compare a new tool listing of a server with the recorded one."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, get_args

from coterie.activities.mcp_client.call_outcomes import UnusableTool
from coterie.activities.mcp_client.tool_difference import differences
from coterie.dsl.json_schema.argument_schemas import arguments_schema
from coterie.dsl.json_schema.offered_schema import offered_schema
from coterie.dsl.model.capabilities import ServerListing, ServerTool
from coterie.dsl.model.tools.offer_names import OfferKind, kind_of_offer, matches_offer
from coterie.dsl.model.vendors.vendor_rules import TOOL_SCHEMA_RULES
from coterie.dsl.model.vendors.vendors import refusing_apis, vendor_names
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line
from coterie.text.problems import counted


class OverriddenEntry(NamedTuple):
    """An entry of `tools` whose tools all match an earlier entry, which counts."""

    entry: str
    earlier: str


def overridden_entries(entries: Iterable[str], tools: Sequence[str]) -> Iterator[OverriddenEntry]:
    """Yield the entries that match tools but apply to none."""
    before: list[str] = []
    for entry in entries:
        matches = [tool for tool in tools if matches_offer(tool, entry)]
        first = [
            next((earlier for earlier in before if matches_offer(tool, earlier)), None)
            for tool in matches
        ]
        if matches and first[0] is not None and None not in first:
            yield OverriddenEntry(entry, first[0])
        before.append(entry)


class RefreshedListing(NamedTuple):
    """The tools of a server now, and when they were last recorded."""

    server: str
    before: ServerListing | None = None
    now: ServerListing | None = None
    left_out: tuple[UnusableTool, ...] = ()
    unmatched: tuple[str, ...] = ()
    """Entries of `tools` in the worker's configuration that match no tool of the server."""
    overridden: tuple[OverriddenEntry, ...] = ()
    failure: str = ""
    """Why the server could not be listed."""

    @property
    def is_whole(self) -> bool:
        """Whether the server was listed, and everything that it offers is recorded."""
        return not self.failure and not self.left_out

    def since(self, before: ServerListing | None) -> "RefreshedListing":
        """Return it beside the recorded listing, which still counts for a server that failed."""
        return self._replace(before=before, now=before if self.failure else self.now)

    def as_dict(self) -> Json:
        """Return what changed as JSON."""
        old, new = self._tools(self.before), self._tools(self.now)
        return {
            "server": self.server,
            **({"failure": self.failure} if self.failure else {}),
            "tools": [*new],
            "added": [name for name in new if name not in old],
            "removed": [name for name in old if name not in new],
            "changed": {
                name: [*differences(old[name], new[name])]
                for name in new
                if name in old and old[name] != new[name]
            },
            "rewritten": dict(self._rewritten()),
            "left_out": {tool.name: tool.why for tool in self.left_out},
            "unmatched": [*self.unmatched],
            "overridden": {override.entry: override.earlier for override in self.overridden},
        }

    def lines(self) -> Iterator[str]:
        """Yield the changes for people."""
        if self.failure:
            suffix = "; its recorded tools stay" if self.before is not None else ""
            yield f"{self.server}: not listed: {one_line(self.failure)}{suffix}"
            return
        old, new = self._tools(self.before), self._tools(self.now)
        is_unchanged = self.before is not None and old == new
        counts = Counter(map(kind_of_offer, new))
        noun = "operation" if self.now is not None and self.now.source is not None else "tool"
        others = [
            counted(counts[kind], noun if kind == "tool" else kind)
            for kind in get_args(OfferKind)
            if counts[kind]
        ]
        summary = ", ".join(others) or counted(0, noun)
        yield f"{self.server}: {summary}" + (", unchanged" if is_unchanged else "")
        for name in new:
            if name not in old:
                yield f"  + {name}"
            elif old[name] != new[name]:
                yield f"  ~ {name}"
                yield from (f"      {line}" for line in differences(old[name], new[name]))
        yield from (f"  - {name}" for name in old if name not in new)
        for name, why in self._rewritten():
            yield f"  rewritten for models: {name}: {why}"
        yield from (f"  left out: {tool.name}: {tool.why}" for tool in self.left_out)
        yield from (
            f"  `tools` of the worker's configuration has {entry!r}, which matches no tool"
            for entry in self.unmatched
        )
        yield from (
            f"  `tools` of the worker's configuration has {override.entry!r}, which never counts: "
            f"{override.earlier!r} comes first; write {override.entry!r} before it"
            for override in self.overridden
        )

    def _rewritten(self) -> Iterator[tuple[str, str]]:
        """Yield the tools whose schemas some vendor refuses as they are, with the reasons."""
        for name, tool in self._tools(self.now).items():
            arguments = arguments_schema(tool.input_schema)
            rules = () if arguments is None else offered_schema(arguments).rules
            if rules:
                refusing = vendor_names(api for rule in rules for api in refusing_apis(rule))
                findings = ", ".join(TOOL_SCHEMA_RULES[rule] for rule in rules)
                yield name, f"{', '.join(refusing)} would refuse {findings}"

    @staticmethod
    def _tools(listing: ServerListing | None) -> dict[str, ServerTool]:
        return {} if listing is None else {tool.name: tool for tool in listing.tools}
