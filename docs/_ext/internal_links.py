"""After the build every link from one page to another is followed: file and place must be there, and ids single."""

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging


@dataclass(slots=True)
class Page:
    """What a page links to, and the places that it has."""

    links: list[str] = field(default_factory=list)
    places: Counter[str] = field(default_factory=Counter)


class _LinkCollector(HTMLParser):
    """Collects links and places of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        if "id" in given:
            self.page.places[given["id"]] += 1
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])


def page_of(html: str) -> Page:
    """A page as it is linked."""
    reader = _LinkCollector()
    reader.feed(html)
    return reader.page


def broken(folder: Path) -> list[str]:
    """Every link inside the folder that leads nowhere, and every id that a page has twice, a line each."""
    pages = {path: page_of(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    twice = [
        f"{path.relative_to(folder)} has the id {place} {times} times"
        for path, page in pages.items()
        for place, times in page.places.items()
        if times > 1
    ]
    nowhere = [
        f"{path.relative_to(folder)} links to {link}, which is not there"
        for path, page in pages.items()
        for link in page.links
        if not _leads_somewhere(path, link, pages)
    ]
    return [*twice, *nowhere]


def _leads_somewhere(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    to = urlsplit(link)
    if to.scheme or to.netloc:
        return True
    target = (path.parent / unquote(to.path)).resolve() if to.path else path
    if target not in pages:
        return target.is_file()
    return not to.fragment or unquote(to.fragment) in pages[target].places


def check(app: Sphinx, failure: Exception | None) -> None:
    """Warn of what is broken."""
    if failure is None and app.builder.format == "html":
        for line in broken(Path(app.outdir).resolve()):
            logging.getLogger(__name__).warning("%s", line)


def setup(app: Sphinx) -> dict[str, bool]:
    """Check after everything was written."""
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
