"""The domain `eos`: rules, known bugs and scenarios are names that link to the one place where each is stated.

`eos:rule`, `eos:bug` and `eos:scenario` are roles; pages may leave the domain away. The build warns of a name that is
not known, and of one that is stated twice or never. The inventory (`objects.inv`) has them all.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, Final

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

from model_tests.scenarios.catalogue import SCENARIOS
from spec.bugs.catalogue import BUGS
from spec.rules import RULES

KINDS: Final[Mapping[str, Mapping[str, object]]] = {"rule": RULES, "bug": BUGS, "scenario": SCENARIOS}

Stated = dict[str, dict[str, list[str]]]
"""By kind and name the pages that state it."""


def reference(env: BuildEnvironment, kind: str, name: str) -> addnodes.pending_xref:
    """A name that becomes a link when all pages have been read."""
    awaited = addnodes.pending_xref(
        "",
        refdomain=ProjectDomain.name,
        reftype=kind,
        reftarget=name,
        refdoc=env.docname,
        refexplicit=False,
        refwarn=True,
    )
    awaited += nodes.literal("", name, classes=["xref", ProjectDomain.name, kind])
    return awaited


def anchor(kind: str, name: str) -> str:
    """The address on its page."""
    return f"{kind}-{nodes.make_id(name)}"


def section(env: BuildEnvironment, kind: str, name: str) -> nodes.section:
    """The section that states it, remembered as its place."""
    names = env.get_domain(ProjectDomain.name)
    if not isinstance(names, ProjectDomain):
        raise TypeError("the domain of names is not this one")
    names.stated[kind].setdefault(name, []).append(env.docname)
    return nodes.section(ids=[anchor(kind, name)], names=[name], classes=[kind])


class ProjectDomain(Domain):
    """Rules, known bugs and scenarios."""

    name = "eos"
    label = "Kafka's exactly-once"
    object_types: Final = {kind: ObjType(kind, kind) for kind in KINDS}
    roles: Final = {kind: XRefRole(warn_dangling=True) for kind in KINDS}
    dangling_warnings: Final = {kind: f"no {kind} is called %(target)r" for kind in KINDS}
    initial_data: Final = {"stated": {kind: {} for kind in KINDS}}
    data_version = 1

    @property
    def stated(self) -> Stated:
        """Where everything is stated."""
        stated: Stated = self.data["stated"]
        return stated

    def clear_doc(self, docname: str) -> None:
        """Forget what a page states: it is read again, and states it anew."""
        for _, _, places in self._everything():
            places[:] = [place for place in places if place != docname]

    def merge_domaindata(self, docnames: Set[str], otherdata: dict[str, Any]) -> None:
        """Take over what another process read."""
        for kind, names in otherdata["stated"].items():
            for name, places in names.items():
                self.stated[kind].setdefault(name, []).extend(place for place in places if place in docnames)

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: addnodes.pending_xref,
        contnode: nodes.Element,
    ) -> nodes.reference | None:
        """The link to what is meant; none if nothing has the name."""
        places = self.stated[typ].get(target)
        if not places:
            return None
        return make_refnode(builder, fromdocname, places[0], anchor(typ, target), contnode, target)

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: addnodes.pending_xref,
        contnode: nodes.Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Links to everything with the name, by their roles."""
        found = ((k, self.resolve_xref(env, fromdocname, builder, k, target, node, contnode)) for k in KINDS)
        return [(f"{self.name}:{kind}", link) for kind, link in found if link is not None]

    def get_objects(self) -> Iterable[tuple[str, str, str, str, str, int]]:
        """Everything that is stated, for the inventory and the search."""
        return (
            (name, name, kind, places[0], anchor(kind, name), 1) for kind, name, places in self._everything() if places
        )

    def check_consistency(self) -> None:
        """Warn of what the pages state twice or never."""
        for kind, known in KINDS.items():
            for name in known:
                times = len(self.stated[kind].get(name, []))
                if times != 1:
                    text = "%s %s is stated %d times in the docs, not once"
                    logging.getLogger(__name__).warning(text, kind, name, times)

    def _everything(self) -> Iterator[tuple[str, str, list[str]]]:
        return ((kind, name, places) for kind, names in self.stated.items() for name, places in names.items())


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the domain."""
    app.add_domain(ProjectDomain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
