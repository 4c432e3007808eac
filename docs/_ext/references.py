"""Names in sentences: `{rule}`, `{bug}` and `{scenario}` link to the one place where each is stated.

The build warns when one is stated twice or never.
"""

from collections.abc import Mapping
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.util.nodes import make_refnode

from model_tests.scenarios.catalogue import SCENARIOS
from spec.bugs.catalogue import BUGS
from spec.rules import RULES

KINDS: Final[Mapping[str, Mapping[str, object]]] = {"rule": RULES, "bug": BUGS, "scenario": SCENARIOS}


class awaited_reference(nodes.literal):  # noqa: N801  # docutils' nodes are written small
    """A name in a sentence, not yet a link."""


def reference(env: BuildEnvironment, kind: str, name: str) -> awaited_reference:
    """A name that becomes a link when all pages have been read."""
    return awaited_reference(name, kind=kind, name=name, docname=env.docname)


def anchor(kind: str, name: str) -> str:
    """The address on its page."""
    return f"{kind}-{nodes.make_id(name)}"


def section(env: BuildEnvironment, kind: str, name: str) -> nodes.section:
    """The section that states it, remembered as its place."""
    _places(env, kind).setdefault(name, []).append(env.docname)
    return nodes.section(ids=[anchor(kind, name)], names=[name], classes=[kind])


def _places(env: BuildEnvironment, kind: str) -> dict[str, list[str]]:
    places: dict[str, list[str]] = env.domaindata.setdefault(f"stated-{kind}", {})
    return places


class NameRole(SphinxRole):
    """A name of one kind in a sentence."""

    def __init__(self, kind: str) -> None:
        """Names of this kind."""
        super().__init__()
        self.kind = kind

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave a reference that is resolved when all pages have been read."""
        if self.text not in KINDS[self.kind]:
            message = self.inliner.reporter.error(f"no {self.kind} is called {self.text!r}", line=self.lineno)
            return [], [message]
        return [reference(self.env, self.kind, self.text)], []


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn the names into links."""
    for name in list(doctree.findall(awaited_reference)):
        literal = nodes.literal("", name["name"])
        page = _places(app.env, name["kind"]).get(name["name"], [docname])[0]
        target = anchor(name["kind"], name["name"])
        name.replace_self(make_refnode(app.builder, docname, page, target, literal, name["name"]))


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """A page that is read again states what it has anew."""
    for kind in KINDS:
        for places in _places(env, kind).values():
            places[:] = [place for place in places if place != docname]


def require_each_once(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of what the pages state twice or never."""
    for kind, known in KINDS.items():
        for name in known:
            times = len(_places(env, kind).get(name, []))
            if times != 1:
                logging.getLogger(__name__).warning("%s %s is stated %d times in the docs, not once", kind, name, times)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the roles and the checks."""
    app.add_node(awaited_reference)
    for kind in KINDS:
        app.add_role(kind, NameRole(kind))
    app.connect("env-purge-doc", forget)
    app.connect("env-check-consistency", require_each_once)
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
