"""Where a line may break in a long name, in a table or a field: after an underscore, a dot or a slash.

A name that is short stays whole everywhere. What is copied or searched is the name itself.
"""

import re
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

SHORT: Final = 14
"""Letters of a name that no line breaks."""

LONG_NAME: Final = re.compile(rf"\w[\w./]{{{SHORT},}}")
JOINT: Final = re.compile(r"(?<=\w)[_./](?=\w)")
NARROW: Final = (nodes.entry, nodes.field_body, nodes.title)


def broken(html: str) -> str:
    """Text of a page with a place to break after each joint of a long name."""
    return LONG_NAME.sub(lambda name: JOINT.sub(r"\g<0><wbr>", name[0]), html)


class Translator(HTML5Translator):
    """Writes pages, with places to break."""

    def visit_Text(self, node: nodes.Text) -> None:  # noqa: N802  # the base class's name
        """Text in narrow places."""
        super().visit_Text(node)
        if any(isinstance(above, NARROW) for above in _above(node)):
            self.body[-1] = broken(self.body[-1])

    def visit_literal(self, node: nodes.Element) -> None:
        """Code, as one word if it is short."""
        if len(node.astext()) <= SHORT:
            node["classes"].append("whole")
        super().visit_literal(node)


def _above(node: nodes.Node) -> list[nodes.Node]:
    found = []
    while (parent := node.parent) is not None:
        found.append(parent)
        node = parent
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Write pages with it."""
    app.set_translator("html", Translator)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
