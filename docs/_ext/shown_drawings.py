"""A drawing among the prose: `shown` draws the run of a scenario or the counterexample of a bug beside its text.

With `:open:` it is seen at once.
"""

from typing import ClassVar

from bug_facts import facts
from docutils import nodes
from docutils.parsers.rst import directives
from drawings import drawn
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import folded

from model_tests.diagrams.sequence_svg import svg_of
from model_tests.scenarios.catalogue import SCENARIOS
from model_tests.scenarios.judged import judged
from spec.bugs.catalogue import BUGS


class FoldedDrawing(SphinxDirective):
    """One drawing to be opened, under the title of what it shows."""

    required_arguments = 2
    option_spec: ClassVar = {"open": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Draw what the arguments name: `bug` or `scenario`, and which."""
        kind, name = self.arguments
        if kind == "bug" and name in facts():
            title, svg = f"{name}: {BUGS[name].title}", facts()[name]["svg"]
        elif kind == "scenario" and name in SCENARIOS:
            title, svg = SCENARIOS[name].title, svg_of(judged(SCENARIOS[name]).diagram)
        else:
            raise self.error(f"there is nothing to draw of the {kind} {name!r}")
        page = nodes.make_id(self.env.docname)
        drawing = drawn(self.env, f"{page}-{nodes.make_id(name)}", svg)
        return folded(title, *drawing, opened="open" in self.options)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("shown", FoldedDrawing)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
