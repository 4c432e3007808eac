"""The known bugs on the page: `bugs` states each with verdicts and drawing, `bug-index` lists them in one table.

`bug-reported` shows one counterexample as the command line does.
"""

from bug_facts import Facts, facts
from docutils import nodes
from drawings import drawn
from references import reference, section
from rule_pages import field_list, sources
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from tables import Cell, table

from spec.bugs.bug import Bug
from spec.bugs.catalogue import BUGS


class BugIndex(SphinxDirective):
    """Every known bug in one table."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        head: tuple[Cell, ...] = ("bug", "what goes wrong", "rule", "violated in", "holds in")
        return [table([head, *(self._row(bug) for bug in BUGS.values())], (18, 36, 22, 10, 14), kind="index")]

    def _row(self, bug: Bug) -> tuple[Cell, ...]:
        where = (", ".join(case.profile for case in cases) for cases in (bug.violated, bug.mended))
        return reference(self.env, "bug", bug.name), bug.title, reference(self.env, "rule", bug.rule.id), *where


class KnownBugs(SphinxDirective):
    """Every known bug as a section: what happens, what the searches say, the shortest counterexample, the reference."""

    def run(self) -> list[nodes.Node]:
        """Search all bugs and render them."""
        found = facts()
        if missing := [name for name in BUGS if name not in found]:
            raise self.error(f"nothing was found to draw of {', '.join(missing)}")
        for name, of in found.items():
            for failure in of["failures"]:
                logging.getLogger(__name__).warning("the known bug %s is not as expected: %s", name, failure)
        return [self._section(bug, found[bug.name]) for bug in BUGS.values()]

    def _section(self, bug: Bug, found: Facts) -> nodes.section:
        stated = section(self.env, "bug", bug.name)
        stated += nodes.title("", f"{bug.name}: {bug.title}")
        stated += nodes.paragraph("", bug.mechanism, classes=["rule-statement"])
        breaks = reference(self.env, "rule", bug.rule.id)
        stated += field_list({"Sources": sources(bug.source), "Breaks": breaks})
        stated += self._shown(bug, found)
        self.state.document.note_explicit_target(stated)
        return stated

    def _shown(self, bug: Bug, found: Facts) -> list[nodes.Node]:
        rows = [verdict_row(case, given["why"]) for case, given in zip(found["cases"], _whys(bug), strict=True)]
        verdicts = table([("release", "verdict", "depth", "reference", "because"), *rows], (14, 14, 18, 14, 40))
        drawing = drawn(self.env, nodes.make_id(bug.name), found["svg"]) if found["svg"] else []
        return [verdicts, *drawing, field_list(replayed(found))]


def verdict_row(case: Facts, why: str) -> tuple[str, ...]:
    """One release: what the search says, how deep, and whether the reference does the same."""
    depth = f"{case['depth']}, all states" if case["complete"] else str(case["depth"])
    agrees = {True: "agrees", False: "differs", None: "no place for it"}[case["reference"]]
    return case["profile"], case["got"], depth, agrees, why


def _whys(bug: Bug) -> list[dict[str, str]]:
    return [{"why": case.why} for case in bug.cases]


def replayed(found: Facts) -> dict[str, nodes.Node]:
    """What became of the counterexample on the reference."""
    replay = found["replay"]
    if replay is None:
        return {"Reference": nodes.Text("Not carried out: it has no place for this yet.")}
    return {"With the defect": nodes.Text(replay["with"]), "Without it": nodes.Text(replay["without"])}


class BugReported(SphinxDirective):
    """The shortest counterexample of one bug, as text."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the bug that the argument names."""
        name = self.arguments[0]
        if name not in facts():
            raise self.error(f"no search shows a bug {name!r}: there are {', '.join(facts())}")
        text = facts()[name]["text"]
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("bugs", KnownBugs)
    app.add_directive("bug-index", BugIndex)
    app.add_directive("bug-reported", BugReported)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
