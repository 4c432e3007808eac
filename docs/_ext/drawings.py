"""SVG on the page: drawn into it, so that it follows the reader's choice of light and dark, and beside it as a file.

A drawing as a file brings its style; on the page the style is the site's, made of the very same rules.
"""

import re
from pathlib import Path
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from model_tests.diagrams.sequence_svg import STYLE

FOLDER: Final = "_drawings"
SHEET: Final = "drawings.css"
DARK: Final = re.compile(r"@media \(prefers-color-scheme: dark\) \{ svg \{(?P<colours>.*?)\} \}", re.DOTALL)
LIGHT: Final = re.compile(r"^svg \{(?P<colours>.*?)color-scheme", re.DOTALL)
PARTS: Final = re.compile(r"^(?=[.a-z])(?!svg)(.*)$", re.MULTILINE)


def sheet() -> str:
    """The style of drawings on a page: light or dark as the page is."""
    light, dark = LIGHT.search(STYLE), DARK.search(STYLE)
    if light is None or dark is None:
        raise ValueError("the style of diagrams has no colours for light and dark")
    parts = [
        ", ".join(f".drawing svg {part.strip()}" for part in selectors.split(",")) + f" {{{body}"
        for selectors, _, body in (line.partition(" {") for line in PARTS.findall(STYLE.replace(dark.group(), "")))
    ]
    of_dark = dark["colours"]
    return "\n".join(
        (
            f".drawing svg {{{light['colours']}}}",
            f'@media (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) .drawing svg {{{of_dark}}} }}',
            f'body[data-theme="dark"] .drawing svg {{{of_dark}}}',
            *parts,
        )
    )


def drawn(env: BuildEnvironment, name: str, svg: str) -> list[nodes.Node]:
    """A drawing on the page, and a link to it as a file of its own.

    Args:
        env: where the drawings of all pages are kept until they are written.
        name: of the file, without folder and ending.
        svg: the text of the file.
    """
    kept(env)[name] = svg
    up = "../" * env.docname.count("/")
    link = f'<a href="{up}{FOLDER}/{name}.svg">the drawing alone</a>'
    html = f'<figure class="drawing"><div class="scrolled" tabindex="0">{inline(svg, name)}</div>'
    return [nodes.raw("", f"{html}<figcaption>{link}</figcaption></figure>", format="html")]


def inline(svg: str, name: str) -> str:
    """The drawing without its style, with ids that no other drawing of the page has; it says how wide it is."""
    svg = re.sub(r'(<svg[^>]*? width="(\d+)")', r'\1 style="--natural: \2px"', svg, count=1)
    bare = re.sub(r"<style>.*?</style>\n?", "", svg, flags=re.DOTALL)
    named = re.sub(r'id="(\w+)"', rf'id="{name}-\1"', bare)
    return re.sub(r'aria-labelledby="(\w+) (\w+)"', rf'aria-labelledby="{name}-\1 {name}-\2"', named)


def kept(env: BuildEnvironment) -> dict[str, str]:
    """The drawings of all pages by name."""
    drawings: dict[str, str] = env.domaindata.setdefault("drawings", {})
    return drawings


def write(app: Sphinx, failure: Exception | None) -> None:
    """Write every drawing as a file, and the style of those on pages."""
    if failure is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    for name, svg in kept(app.env).items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    (Path(app.outdir) / "_static" / SHEET).write_text(sheet(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Let the pages have the style, and write the files at the end."""
    app.add_css_file(SHEET)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
