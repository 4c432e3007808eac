"""Reports as one page of HTML that needs no other file."""

from importlib.resources import files
from typing import Final

from jinja2 import Environment

TEMPLATE: Final = "page.html.j2"


def html_page(package: str, **values: object) -> str:
    """The page that a package has a template of.

    Args:
        package: where the template is.
        values: by the names that the template uses; text is escaped, `Markup` is not.
    """
    template = files(package).joinpath(TEMPLATE).read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(template).render(**values)
