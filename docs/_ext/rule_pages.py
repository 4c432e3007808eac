"""The rules on the page, from the registry: `rules` renders a family, and `{rule}` names one rule in a sentence.

Results are those of the last `make verify`, read from its report; without a report each cell says "not run".
The build warns when a rule is rendered twice or never.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode

from model_tests.verify.coverage import Owed, owed_by, waived_by
from model_tests.verify.report import domain_text
from model_tests.verify.table import UNITS
from spec.rules import RULES, Rule

REPORT: Final = Path(__file__).parents[2] / "build" / "verify" / "report.json"

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Evidence as in the report, by rule and kind."""

NO_FIGURES: Final = ("verdict", "detail", "seconds", "count")

FAMILIES: Final = ("ids", "seq", "fence", "txn", "lso", "offsets", "repl")


def results() -> Results:
    """The evidence of the last run; nothing if there was none."""
    if not REPORT.is_file():
        return {}
    return {rule["id"]: rule["evidence"] for rule in json.loads(REPORT.read_text(encoding="utf-8"))["rules"]}


def anchor(rule_id: str) -> str:
    """The rule's address on its page."""
    return f"rule-{rule_id.replace('.', '-').replace('_', '-')}"


class RulesOfFamily(SphinxDirective):
    """Every rule of one family, each as a section."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the family that the argument names."""
        family = self.arguments[0]
        if family not in FAMILIES:
            raise self.error(f"no family of rules is called {family!r}: there are {', '.join(FAMILIES)}")
        found = results()
        return [self._section(rule, found) for rule in RULES.values() if rule.family == family]

    def _section(self, rule: Rule, found: Results) -> nodes.section:
        self.env.domaindata.setdefault("rules", {}).setdefault(rule.id, []).append(self.env.docname)
        section = nodes.section(ids=[anchor(rule.id)], names=[rule.id], classes=["rule"])
        section += nodes.title("", "", nodes.literal("", rule.id))
        section += nodes.paragraph("", rule.statement, classes=["rule-statement"])
        section += field_list({"Source": sources(rule), "Domain": nodes.Text(domain_text(rule))})
        section += evidence_table(rule, found.get(rule.id, {}))
        self.state.document.note_explicit_target(section)
        return section


def sources(rule: Rule) -> nodes.inline:
    """KIPs and tickets as links, classes as code."""
    line = nodes.inline()
    for position, source in enumerate(rule.source):
        line += nodes.Text(", " if position else "")
        line += source_node(source)
    return line


def source_node(source: str) -> nodes.Node:
    """One source: a ticket with its address, a KIP by its name, a class of Kafka as code."""
    if source.startswith("KAFKA-"):
        return nodes.reference("", source, refuri=f"https://issues.apache.org/jira/browse/{source}", internal=False)
    return nodes.Text(source) if source.startswith("KIP-") else nodes.literal("", source)


def field_list(fields: Mapping[str, nodes.Node]) -> nodes.field_list:
    """Names and values, one a line."""
    body = nodes.field_list(classes=["rule-fields"])
    for name, value in fields.items():
        body += nodes.field("", nodes.field_name("", name), nodes.field_body("", nodes.paragraph("", "", value)))
    return body


def evidence_table(rule: Rule, found: Mapping[str, Mapping[str, Any]]) -> nodes.table:
    """What the rule owes, and what the last run found."""
    rows = [("evidence", "result", "figures")]
    rows += [(str(owed.layer), *told(owed, found.get(str(owed.layer)))) for owed in owed_by(rule)]
    rows += [(str(layer), "waived", reason) for layer, reason in waived_by(rule).items()]
    return table(rows)


def told(owed: Owed, result: Mapping[str, Any] | None) -> tuple[str, str]:
    """The verdict and its figures in words."""
    if not owed.is_brought:
        return f"owed by issue {owed.issue}", ""
    if result is None or not result["count"]:
        return (str(result["verdict"]) if result else "not run"), ""
    time = f"{result['seconds']:.1f} s"
    return str(result["verdict"]), ", ".join((*figures(result, UNITS[owed.layer]), time))


def figures(result: Mapping[str, Any], unit: str) -> list[str]:
    """What was judged, in the unit of its kind first."""
    named = {name: value for name, value in result.items() if name not in NO_FIGURES}
    if unit not in named and result["count"] not in named.values():
        named = {"judged": result["count"], **named}
    return [f"{name} {value}" for name, value in named.items()]


def table(
    rows: Iterable[tuple[str, ...]], widths: Sequence[int] = (20, 20, 60), code: int | None = None
) -> nodes.table:
    """Rows of text as a table; the first one is its head, and the column `code` is set as code."""
    head, *body = rows
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=width) for width in widths]
    group += nodes.thead("", row(head))
    group += nodes.tbody("", *(row(cells, code) for cells in body))
    return nodes.table("", group, classes=["rule-evidence", "colwidths-given"])


def row(cells: Iterable[str], code: int | None = None) -> nodes.row:
    """One row; a cell with a verdict carries it as a class, so that the style sheet can colour it."""
    return nodes.row("", *(entry(cell, is_code=at == code) for at, cell in enumerate(cells)))


def entry(text: str, is_code: bool) -> nodes.entry:
    """One cell."""
    inside = nodes.literal("", text) if is_code else nodes.Text(text)
    return nodes.entry("", nodes.paragraph("", "", inside), classes=style_of(text))


def style_of(cell: str) -> list[str]:
    """The class of a cell with a verdict in it."""
    word = cell.partition(" ")[0]
    return [f"verdict-{word}"] if word in {"proved", "holds", "violated", "unknown", "missing", "owed", "not"} else []


class RuleRole(SphinxRole):
    """A rule named in a sentence: a link to where it is stated."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave a reference that is resolved when all pages have been read."""
        if self.text not in RULES:
            message = self.inliner.reporter.error(f"no rule is called {self.text!r}", line=self.lineno)
            return [], [message]
        reference = rule_reference(self.text, rule=self.text, docname=self.env.docname)
        return [reference], []


class rule_reference(nodes.literal):  # noqa: N801  # docutils' nodes are written small
    """A rule's name, not yet a link."""


def link_rules(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn the names of rules into links."""
    places = app.env.domaindata.get("rules", {})
    for name in list(doctree.findall(rule_reference)):
        literal = nodes.literal("", name["rule"])
        page = places.get(name["rule"], [docname])[0]
        name.replace_self(make_refnode(app.builder, docname, page, anchor(name["rule"]), literal, name["rule"]))


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """A page that is read again states its rules anew."""
    for places in env.domaindata.get("rules", {}).values():
        places[:] = [place for place in places if place != docname]


def require_each_rule_once(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of rules that the pages state twice or never."""
    places = env.domaindata.get("rules", {})
    for rule in RULES:
        times = len(places.get(rule, []))
        if times != 1:
            logging.getLogger(__name__).warning("rule %s is stated %d times in the docs, not once", rule, times)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, the role and the checks."""
    app.add_node(rule_reference)
    app.add_directive("rules", RulesOfFamily)
    app.add_role("rule", RuleRole())
    app.connect("env-purge-doc", forget)
    app.connect("env-check-consistency", require_each_rule_once)
    app.connect("doctree-resolved", link_rules)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
