"""The repairs that an audit tries, as a table."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import table

from model_tests.audit.repair_kinds import REPAIR_KINDS


class RepairKinds(SphinxDirective):
    """Each kind of repair: what went wrong, what shows it, and of how many alternatives one is chosen."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        rows = [("what went wrong", "the evidence shows", "one of"), *(kind.row() for kind in REPAIR_KINDS)]
        return [table(rows, (34, 44, 22), kind="index")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("repair-kinds", RepairKinds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
