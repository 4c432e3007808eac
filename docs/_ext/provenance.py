"""Where recordings are from: `provenance` renders the README of each folder of recordings."""

from pathlib import Path
from typing import Final

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT: Final = Path(__file__).parents[2]
NONE_YET: Final = "No recordings are in this checkout."


class Provenance(SphinxDirective):
    """Each README of recordings, with its folder as the heading."""

    def run(self) -> list[nodes.Node]:
        """Render them all, by the name of their folder."""
        found = sorted((ROOT / "model_tests").rglob("README.md"))
        sections: list[nodes.Node] = [self._section(path) for path in found if holds_recordings(path.parent)]
        return sections or [nodes.paragraph("", NONE_YET)]

    def _section(self, path: Path) -> nodes.section:
        folder = str(path.parent.relative_to(ROOT))
        section = nodes.section(ids=[nodes.make_id(folder)], names=[folder])
        section += nodes.title("", "", nodes.literal("", folder))
        lines = path.read_text(encoding="utf-8").splitlines()
        self.state.nested_parse(StringList(without_title(lines), source=str(path)), 0, section)
        self.state.document.note_explicit_target(section)
        return section


def holds_recordings(folder: Path) -> bool:
    """Whether there is a recording in the folder, at any depth."""
    return any(folder.rglob("*.xz"))


def without_title(lines: list[str]) -> list[str]:
    """The text below the title, headings as bold lines: the folder's name is the title here."""
    below = lines[1:] if lines and lines[0].startswith("# ") else lines
    return [f"**{line.lstrip('#').strip()}**" if line.startswith("#") else line for line in below]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("provenance", Provenance)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
