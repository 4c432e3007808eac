"""Proposed changes of the protocol on the page: `kip` shows the kept verdict on one, as `eos kip FILE --json` wrote it.

`kip-index` lists them all with their verdicts.
"""

import json
from typing import Any, ClassVar

from docutils import nodes
from rule_pages import field_list
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import table

from model_tests.common.derived import ROOT

KIPS = ROOT / "docs" / "kips"
MOST_STATES = 2
"""Counterexamples to induction that are shown whole."""

Kept = dict[str, Any]


def kept(name: str) -> Kept:
    """The kept verdict on a variant."""
    found: Kept = json.loads((KIPS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def names() -> list[str]:
    """Every variant that is shown."""
    return sorted(file.stem for file in KIPS.glob("*.py"))


class KipIndex(SphinxDirective):
    """Every variant in one table."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        rows = [(found["name"], found["sentence"], found["verdict"]) for found in map(kept, names())]
        return [table([("variant", "change", "verdict"), *rows], (18, 50, 32), kind="index")]


class Kip(SphinxDirective):
    """One variant: what it changes, its verdict, and how that came about."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Render the kept verdict."""
        name = self.arguments[0]
        self.env.note_dependency(str(KIPS / f"{name}.json"))
        return shown(name, kept(name))


def shown(name: str, found: Kept) -> list[nodes.Node]:
    """The verdict on a variant: what it is, the parts that were run, the searches, and what is not proved."""
    fields = {
        "File": nodes.literal("", f"docs/kips/{name}.py"),
        "Change": nodes.Text(found["sentence"]),
        "Source": nodes.Text(", ".join(found["source"])),
        "Compared with": nodes.Text(found["compared_with"]),
        "Verdict": nodes.strong("", found["verdict"]),
    }
    stated = field_list({key: node for key, node in fields.items() if node.astext()})
    return [stated, *_parts(found), *_searches(found), *_open(found)]


def _parts(found: Kept) -> list[nodes.Node]:
    facts, proof, controls = found["facts"], found["proof"], found["controls"]
    wrong = [each for each in controls if each["expected"] != each["got"]]
    rows = [
        ("facts for all inputs", f"{facts['proved']} proved", f"{len(facts['open'])} open"),
        ("controls", f"{len(controls) - len(wrong)} as expected", f"{len(wrong)} otherwise"),
    ]
    if proof is None:
        return [table([("part", "", ""), *rows, ("proof by induction", "not run", "")], (40, 30, 30))]
    rows.append(("proof by induction", f"{proof['proved']} proved", f"{len(proof['open'])} open"))
    assumed = nodes.paragraph("", f"The proof assumes {', '.join(proof['assumptions'])}.")
    return [table([("part", "", ""), *rows], (40, 30, 30)), assumed]


def _searches(found: Kept) -> list[nodes.Node]:
    head = ("instance", "verdict", "before", "states", "before", "in both")
    rows = [
        (each["name"], each["verdict"], each["before"], *(f"{each[key]:,}" for key in ("here", "there", "both")))
        for each in found["instances"]
    ]
    return [table([head, *rows], (28, 24, 24, 8, 8, 8)), *_runs(found["instances"])]


def _runs(instances: list[Kept]) -> list[nodes.Node]:
    """The first run of each kind."""
    drawn: list[nodes.Node] = []
    for kind in ("violating", "mended", "only_here", "only_there"):
        runs = [each[kind] for each in instances if each[kind]]
        if runs:
            drawn.append(nodes.literal_block("", runs[0]["drawing"], language="text"))
    return drawn


def _open(found: Kept) -> list[nodes.Node]:
    shown: list[nodes.Node] = []
    states = 0
    for each in found["proof"]["open"] if found["proof"] else ():
        shown.append(nodes.paragraph("", each["said"]))
        if each["state"] and states < MOST_STATES:
            states += 1
            cells = [
                (cell["function"], ", ".join(map(str, cell["at"])), str(cell["before"]), str(cell["after"]))
                for cell in each["state"]
            ]
            shown.append(table([("function", "at", "before", "after"), *cells], (40, 20, 20, 20)))
    return shown


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("kip", Kip)
    app.add_directive("kip-index", KipIndex)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
