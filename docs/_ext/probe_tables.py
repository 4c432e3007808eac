"""What a client can see of releases and defects: `fingerprints`, `neighbours`, `probes` and `unseen-defects`.

The first is what `eos serve` shows of each release; the others are computed from the releases, the probing sessions and
the planted defects.
"""

import json

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import table
from version_tables import value_text

from model_tests.probe import planted
from model_tests.probe.probes import neighbours, probes, seen_between, unseen_in
from model_tests.probe.tabulating import FILE


class Fingerprints(SphinxDirective):
    """A row for each release that is served: as what it is found, and what it shows."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        head = ("served", "observed", "found", "cannot be distinguished", "behaviours shown")
        return [table([head, *(self._row(each) for each in json.loads(FILE.read_text(encoding="utf-8")))], ())]

    def _row(self, each: dict[str, object]) -> tuple[str, ...]:
        alike, shown = each["alike"], each["behaviours"]
        if not isinstance(alike, list) or not isinstance(shown, dict):
            raise self.error(f"{FILE.name} is not of its form")
        behaviours = ", ".join(f"{name} {value_text(value)}" for name, value in sorted(shown.items()))
        return str(each["release"]), str(each["observed"]), str(each["best"]), ", ".join(alike), behaviours


class Neighbours(SphinxDirective):
    """A row for each two neighbouring releases: what a client sees of their difference, and what it does not."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        rows = [
            (
                f"{one.name}, {other.name}",
                ", ".join(seen_between(one, other)) or "nothing: no client can distinguish them",
                "; ".join(f"{name}: {why}" for name, why in unseen_in(one, other)),
            )
            for one, other in neighbours()
        ]
        return [table([("releases", "a client sees", "a client does not see"), *rows], (18, 41, 41))]


class Probes(SphinxDirective):
    """A row for each probing session: its steps, and the behaviours that it distinguishes."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        rows = [
            (
                "; ".join(str(action) for action in probe.script.actions),
                ", ".join(dict.fromkeys(distinction.behaviour for distinction in probe.distinctions)),
            )
            for probe in probes()
        ]
        return [table([("steps", "distinguishes"), *rows], (60, 40))]


class UnseenDefects(SphinxDirective):
    """How many planted defects sessions see, and a row for each of the others."""

    def run(self) -> list[nodes.Node]:
        """Render the count and the table."""
        listed, rows = planted.written(), list(planted.unseen())
        text = f"Of {len(listed)} planted defects of brokers, sessions see {len(listed) - len(rows)}. The others:"
        return [nodes.paragraph(text=text), table([("defect", "why no session sees it"), *rows], (40, 60))]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("fingerprints", Fingerprints)
    app.add_directive("neighbours", Neighbours)
    app.add_directive("probes", Probes)
    app.add_directive("unseen-defects", UnseenDefects)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
