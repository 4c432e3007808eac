"""The built site as a reader's browser shows it: every page loads, and what it should draw is there.

`make docs` builds it and `make screens` runs this with a browser required; elsewhere it is skipped where there is none.
"""

import os
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from model_tests.scenarios.catalogue import SCENARIOS
from model_tests.unit.docs.extensions import extension
from model_tests.unit.source_files import ROOT
from spec.bugs.catalogue import BUGS
from spec.rules import RULES

SITE: Final = Path(os.environ.get("EOS_SITE", ROOT / "build" / "docs"))
SCREENS: Final = ROOT / "build" / "screens"
NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDE, NARROW = 1280, 390
WINDOWS: Final = (768, 1024, 1312, 1366, 1424, 1440, 1552, 1600, 1707, 1920)
"""Widths of windows: common ones, and those from which on the theme shows more."""
UNFOLD: Final = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
UNDER: Final = """() => {
    const beside = document.querySelector(".toc-drawer:not(.no-toc)")?.getBoundingClientRect().left ?? innerWidth;
    const shown = box => getComputedStyle(box).overflowX === "visible" ? box.firstElementChild : box;
    return [...document.querySelectorAll("article .table-wrapper")].map(shown).filter(
        each => each.getBoundingClientRect().right > Math.min(beside, innerWidth)).length;
}"""
"""How many tables reach under the list of a page's sections, or out of the window."""
LEFTS: Final = "all => [...new Set(all.map(each => each.getBoundingClientRect().left))]"
PART: Final = 4000
"""Pixels of height to a picture, at most."""
SLOW_MS: Final = 120_000
"""Time for one picture, on a machine with much else to do."""

pytestmark = pytest.mark.xdist_group("browser")


def missing(what: str) -> Any:
    """Skip, or fail where a browser is required."""
    if os.environ.get("EOS_BROWSER") == "required":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not (SITE / "index.html").is_file():
        missing(f"no site in {SITE.name}: `make docs` builds it")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install '.[browser]'")
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, NAMES)), None) or playwright.chromium.executable_path
        if not Path(found).is_file():
            missing("there is no Chromium: apt-get install chromium, or playwright install chromium")
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": WIDE, "height": 900})
    yield opened
    opened.close()


def address(name: str) -> str:
    return (SITE / name).resolve().as_uri()


def pages() -> list[str]:
    return sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_page_loads(browser: Any, width: int, scheme: str) -> None:
    """Nothing is said on the console, nothing is fetched from elsewhere, and nothing but tables scrolls sideways.

    What is folded is opened before, and each page is kept as it then looks.
    """
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    screens = SCREENS / f"{width}-{scheme}"

    for name in pages():
        shown = context.new_page()
        shown.on(
            "console", lambda output, of=name: wrong.append(f"{of}: {output.text}") if output.type == "error" else None
        )
        shown.on("pageerror", lambda error, of=name: wrong.append(f"{of}: {error}"))
        shown.on("request", lambda request, of=name: wrong.extend(elsewhere(of, request.url)))
        shown.goto(address(name))
        shown.evaluate(UNFOLD)
        if (beyond := shown.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
            wrong.append(f"{name}: is wider than {width} pixels by {beyond}")
        keep_whole(shown, screens, name.removesuffix(".html").replace("/", "-"))
        shown.close()
    context.close()

    assert wrong == []


@pytest.mark.parametrize("name", ["index.html", "bugs.html", "versions.html", "crossing.html", "chapters/txn.html"])
def test_no_window_is_too_narrow(page: Any, name: str) -> None:
    """Pages with drawings and with wide tables fit any, and no table reaches under the list of sections beside it."""
    page.goto(address(name))

    beyond, under = {}, {}
    for width in WINDOWS:
        page.set_viewport_size({"width": width, "height": 900})
        beyond[width] = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        under[width] = page.evaluate(UNDER)
    assert dict.fromkeys(WINDOWS, 0) == beyond
    assert dict.fromkeys(WINDOWS, 0) == under


def keep_whole(shown: Any, screens: Path, name: str) -> None:
    """Pictures of a page, from one scroll to the next where it is high; of lists of functions their beginning."""
    width, height = shown.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    shown.set_viewport_size({"width": width, "height": min(PART, height)})
    tops = range(0, height, PART)
    for number, top in enumerate(tops[:2] if name.startswith("api-") else tops):
        shown.evaluate(f"scrollTo({{top: {top}, behavior: 'instant'}})")
        part = f"-{number}" if number else ""
        shown.screenshot(path=screens / f"{name}{part}.png", timeout=SLOW_MS)


def elsewhere(name: str, requested: str) -> list[str]:
    return [] if requested.startswith(("file:", "data:")) else [f"{name}: fetches {requested}"]


def test_the_matrix_has_every_rule(page: Any) -> None:
    """Each rule has its row, and a link that leads to where it is stated."""
    page.goto(address("rules.html"))

    rows = page.locator("table.index tbody tr")
    assert len(RULES) == rows.count()
    assert list(RULES) == [text.split("\n")[0].strip() for text in rows.locator("td:first-child").all_inner_texts()]
    rows.nth(0).locator("a").first.click()
    page.wait_for_url("**/chapters/ids.html#rule-ids-unique")
    assert page.locator("#rule-ids-unique").is_visible()


@pytest.mark.parametrize(("name", "row"), [("versions.html", 40), ("crossing.html", 150)])
def test_the_head_of_a_long_table_stays_in_sight(page: Any, name: str, row: int) -> None:
    """Who reads a row far down sees what its columns are; nothing hides beside the table."""
    page.goto(address(name))

    table = page.locator("article .table-wrapper > table:has(tbody > tr:nth-child(40))").first
    table.locator("tbody > tr").nth(row - 1).evaluate(
        "each => each.scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    assert page.evaluate("scrollY") > 900
    assert 0 == round(table.locator("thead th").first.bounding_box()["y"])
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDE


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("bugs.html", "section.bug figure.drawing svg"),
        ("limits.html", "section.scenario figure.drawing svg"),
        ("chapters/txn.html", 'figure.drawing svg[viewBox^="-"]'),
    ],
    ids=["counterexample", "scenario", "graph of states"],
)
def test_drawings_are_drawn(page: Any, name: str, drawn: str) -> None:
    """Each kind has a size and a description for screen readers, and changes its ground with the page's colours."""
    page.goto(address(name))
    page.evaluate(UNFOLD)
    drawing = page.locator(drawn).first

    box = drawing.bounding_box()
    assert box["width"] > 200
    assert box["height"] > 100
    assert drawing.locator("title").text_content()
    assert drawing.locator("desc").text_content()
    grounds = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        grounds.add(drawing.locator(".ground").first.evaluate("each => getComputedStyle(each).fill"))
    assert len(grounds) == 2


def test_every_bug_that_is_searched_has_its_drawing(page: Any) -> None:
    """The catalogue shows them all."""
    page.goto(address("bugs.html"))

    assert len(BUGS) == page.locator("section.bug").count()
    assert page.locator("section.bug figure.drawing svg").count() >= len(BUGS) - 2


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_what_is_said_of_a_function_stands_under_its_name(page: Any, width: int) -> None:
    """A class, what is said of it and its methods, what is said of these: each further in, whatever the theme does."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(address("api/world.html"))

    module, of_class, method, of_method = (
        page.eval_on_selector_all(
            f"dl.api > {kind}", "all => [...new Set(all.map(e => e.getBoundingClientRect().left))]"
        )
        for kind in ("dt.api-class", "dt.api-class + dd", "dt.api-method", "dt.api-method + dd")
    )
    assert 1 == len(module) == len(of_class) == len(method) == len(of_method)
    assert module < of_class == method < of_method


def test_the_search_finds_a_rule(page: Any) -> None:
    """Offline, from the index that was built."""
    page.goto(address("search.html") + "?q=fence.stale_epoch")

    page.wait_for_selector("#search-results li a", timeout=20_000)
    links = page.locator("#search-results li a").all()
    assert any("chapters/fence" in str(link.get_attribute("href")) for link in links)


def test_the_inventory_has_every_name() -> None:
    """Other projects can link to each rule, bug, scenario and module."""
    if not (SITE / "objects.inv").is_file():
        missing(f"no site in {SITE.name}: `make docs` builds it")
    kept = import_module("sphinx.util.inventory").InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="").data

    for kind, names in (("rule", RULES), ("bug", BUGS), ("scenario", SCENARIOS)):
        assert set(names) == set(kept[f"eos:{kind}"])
    assert set(extension("api_pages").shown_modules()) == set(kept["py:module"])


def test_no_link_leads_nowhere() -> None:
    """Files and places inside the site are there."""
    if not (SITE / "index.html").is_file():
        missing(f"no site in {SITE.name}: `make docs` builds it")

    assert [] == extension("internal_links").broken(SITE.resolve())
