"""The rules on the page, each spliced from the registry: `eos:rule` states one, `rule-index` lists all in one table.

Results are those of the last `make verify`; without a report each cell says "not run".
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from docutils import nodes
from references import ProjectDomain, reference, section
from rule_code import excerpts
from rule_formulas import formulas_of
from rule_results import evidence_table, reported, results_of_rule
from run_results import Evidence, results
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from tables import Cell, folded, listed, style_of, table

from model_tests.verify.coverage import domain_text, owed_by, waived_by
from spec.bugs.catalogue import BUGS
from spec.rules import RULES, Rule

SHOWN: Final = 6
"""Functions of the reference that a rule shows in full; the names of the others follow."""


class RuleStated(SphinxDirective):
    """One rule as a section: statement, source, domain, formula, code, evidence with results, what breaks it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the rule that the argument names."""
        rule = RULES.get(self.arguments[0])
        if rule is None:
            raise self.error(f"no rule is called {self.arguments[0]!r}: `eos rules` lists all")
        stated = section(self.env, "rule", rule.id)
        stated += nodes.title("", "", nodes.literal("", rule.id))
        stated += nodes.paragraph("", rule.statement, classes=["rule-statement"])
        fields = {"Source": sources(rule.source), "Domain": nodes.Text(domain_text(rule))}
        if broken := list(bugs_of(rule, self.env)):
            fields["Broken by"] = listed(broken)
        stated += field_list(fields)
        stated += evidence_table(rule, results().evidence.get(rule.id, {}))
        stated += formulas_of(rule)
        stated += code_of(rule)
        stated += results_of_rule(rule)
        self.state.document.note_explicit_target(stated)
        return [stated]


class RuleIndex(SphinxDirective):
    """All rules in one table: statement, evidence, known bugs that break each."""

    def run(self) -> list[nodes.Node]:
        """Say which run the results are of, and render the table."""
        found = results()
        rows = [self._row(rule, found.evidence.get(rule.id, {})) for rule in RULES.values()]
        head: tuple[Cell, ...] = ("rule", "statement", "evidence", "broken by")
        run = f"Results of {found.run}." if found.run else "No results are in this checkout: nothing was run."
        return [nodes.paragraph("", run), table([head, *rows], (18, 46, 18, 18), kind="index")]

    def _row(self, rule: Rule, found: Evidence) -> tuple[Cell, ...]:
        kinds = [_kind(layer, reported(layer, found.get(layer))[0]) for layer in owed_by(rule)]
        kinds += [_kind(layer, "waived") for layer in waived_by(rule)]
        name = reference(self.env, "rule", rule.id)
        return name, rule.statement, listed(kinds), listed(bugs_of(rule, self.env))


def _kind(layer: str, verdict: str) -> nodes.inline:
    return nodes.inline("", f"{layer}: {verdict}", classes=style_of(verdict))


def bugs_of(rule: Rule, env: BuildEnvironment) -> Iterator[nodes.Node]:
    """The known bugs that break a rule, by name."""
    return (reference(env, "bug", bug.name) for bug in BUGS.values() if bug.rule is rule)


def code_of(rule: Rule) -> list[nodes.Node]:
    """The functions of the reference that serve a rule, to be opened."""
    shown, others = excerpts()[rule.id][:SHOWN], excerpts()[rule.id][SHOWN:]
    body: list[nodes.Node] = []
    for excerpt in shown:
        body.append(nodes.paragraph("", "", nodes.literal("", excerpt.title), classes=["excerpt"]))
        body.append(nodes.literal_block(excerpt.text, excerpt.text, language="python"))
    if others:
        body.append(nodes.paragraph("", "", nodes.Text("Also: "), listed(nodes.literal("", e.title) for e in others)))
    return folded(f"In the reference ({len(shown) + len(others)})", *body)


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


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.setup_extension("references")
    app.setup_extension("run_results")
    app.add_directive_to_domain(ProjectDomain.name, "rule", RuleStated)
    app.add_directive("rule-index", RuleIndex)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
