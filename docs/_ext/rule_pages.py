"""The rules on the page, from the registry: `rules` renders a family, `rule-index` all of them in one table.

Results are those of the last `make verify`, read from its report; without a report each cell says "not run".
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from references import reference, section
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from tables import Cell, listed, style_of, table

from model_tests.verify.coverage import Owed, owed_by, waived_by
from model_tests.verify.report import domain_text
from model_tests.verify.table import UNITS
from spec.bugs.catalogue import BUGS
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
        stated = section(self.env, "rule", rule.id)
        stated += nodes.title("", "", nodes.literal("", rule.id))
        stated += nodes.paragraph("", rule.statement, classes=["rule-statement"])
        fields = {"Source": sources(rule.source), "Domain": nodes.Text(domain_text(rule))}
        if broken := list(bugs_of(rule, self.env)):
            fields["Broken by"] = listed(broken)
        stated += field_list(fields)
        stated += evidence_table(rule, found.get(rule.id, {}))
        self.state.document.note_explicit_target(stated)
        return stated


class RuleIndex(SphinxDirective):
    """All rules in one table: statement, evidence, known bugs that break each."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        found = results()
        rows = [self._row(rule, found.get(rule.id, {})) for rule in RULES.values()]
        head: tuple[Cell, ...] = ("rule", "statement", "evidence", "broken by")
        return [table([head, *rows], (18, 46, 18, 18), kind="index")]

    def _row(self, rule: Rule, found: Mapping[str, Mapping[str, Any]]) -> tuple[Cell, ...]:
        kinds = [_kind(str(owed.layer), told(owed, found.get(str(owed.layer)))[0]) for owed in owed_by(rule)]
        kinds += [_kind(str(layer), "waived") for layer in waived_by(rule)]
        name = reference(self.env, "rule", rule.id)
        return name, rule.statement, listed(kinds), listed(bugs_of(rule, self.env))


def _kind(layer: str, verdict: str) -> nodes.inline:
    return nodes.inline("", f"{layer}: {verdict}", classes=style_of(verdict))


def bugs_of(rule: Rule, env: BuildEnvironment) -> Iterator[nodes.Node]:
    """The known bugs that break a rule, by name."""
    return (reference(env, "bug", bug.name) for bug in BUGS.values() if bug.rule is rule)


def sources(named: tuple[str, ...]) -> nodes.inline:
    """KIPs and tickets as links, classes as code."""
    return listed(source_node(source) for source in named)


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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("rules", RulesOfFamily)
    app.add_directive("rule-index", RuleIndex)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
