"""The reference of functions: `api` lists the public names of every module of a package, with their docstrings.

Every module that is no test is on exactly one of these pages, or the build warns of it by name. The names are in the
inventory (`objects.inv`) as Python's.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from docstrings import nodes_of
from docutils import nodes
from public_names import Described, Public, described
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from model_tests.verify.coverage import production_modules
from model_tests.verify.results import ROOT

NOT_SHOWN: Final = ("model_tests.bench", "model_tests.mutants", "model_tests.scenarios")
"""Measurements, planted defects and the stories of runs, which are not called from outside."""


@lru_cache(maxsize=1)
def shown_modules() -> tuple[str, ...]:
    """Every module that has a page."""
    names = (name for name in production_modules() if not within(name, NOT_SHOWN))
    return tuple(name for name in names if described(name).names)


def within(name: str, packages: tuple[str, ...]) -> bool:
    """Whether a module is one of the packages or inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


class ApiOfPackage(SphinxDirective):
    """Every module of a package; the further arguments are packages in it that have pages of their own."""

    required_arguments = 1
    optional_arguments = 20

    def run(self) -> list[nodes.Node]:
        """Render the modules of the package that the first argument names."""
        package, *elsewhere = self.arguments
        names = [n for n in shown_modules() if within(n, (package,)) and not within(n, tuple(elsewhere))]
        if not names:
            raise self.error(f"there is no module with public names in {package!r}")
        return [self._module(name, described(name)) for name in names]

    def _module(self, name: str, module: Described) -> nodes.section:
        _shown(self.env).setdefault(name, []).append(self.env.docname)
        section = nodes.section(ids=[name], names=[name], classes=["api-module"])
        section += nodes.title("", "", nodes.literal("", name))
        section += nodes_of(module.text)
        names = nodes.definition_list(classes=["api", "simple"])  # the theme's own indents are for lists that are not
        names += [self._public(name, public, module) for public in module.names]
        section += names
        python = self._python()
        python.note_module(name, name, module.text.partition("\n")[0], "", False)
        python.note_object(name, "module", name, location=section)
        self.state.document.note_explicit_target(section)
        return section

    def _public(self, module: str, public: Public, of: Described) -> nodes.definition_list_item:
        full = f"{module}.{public.name}"
        place = f"{of.path.relative_to(ROOT)}:{public.line}"
        term = nodes.term("", "", *_headline(public), ids=[full], classes=[f"api-{public.kind}"])
        where = nodes.paragraph("", place, classes=["api-place"])
        self._python().note_object(full, public.kind, full, location=term)
        return nodes.definition_list_item("", term, nodes.definition("", *nodes_of(public.text), where))

    def _python(self) -> PythonDomain:
        return self.env.domains.python_domain


def _headline(public: Public) -> Iterator[nodes.Node]:
    yield nodes.strong("", public.name)
    yield nodes.literal("", public.signature.replace("->", "→")) if public.signature else nodes.Text("")
    if public.kind in ("class", "property"):
        yield nodes.inline("", f" {public.kind}", classes=["api-kind"])


def _shown(env: BuildEnvironment) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = env.domaindata.setdefault("api", {})
    return shown


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """A page that is read again shows its modules anew."""
    for places in _shown(env).values():
        places[:] = [place for place in places if place != docname]


def require_each_once(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of modules that the pages show twice or never."""
    for name in shown_modules():
        times = len(_shown(env).get(name, []))
        if times != 1:
            logging.getLogger(__name__).warning("module %s is shown %d times in the docs, not once", name, times)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the check."""
    app.add_directive("api", ApiOfPackage)
    app.connect("env-purge-doc", forget)
    app.connect("env-check-consistency", require_each_once)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
