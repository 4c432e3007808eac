"""Proofs on the page: `theorems` shows the four of the front page, `proof-needs` which lemmas each action needs.

`assumptions` lists what all proofs and systems take for granted, `after-faults` what happens after which fault.
"""

from typing import Any

from docstrings import nodes_of
from docutils import nodes
from proof_facts import Facts, defects, happenings, theorems
from references import reference
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, folded, listed, table

from model_tests.verify.assumed import as_json
from model_tests.verify.liveness_searches import AfterFault
from spec.systems.assumptions import registered


class Theorems(SphinxDirective):
    """The theorems with what they assume, a witness that they are not empty, and a control that breaks them."""

    def run(self) -> list[nodes.Node]:
        """Prove them, and render a table."""
        found = theorems()
        _demand(self, found)
        rows = [self._row(rule, of) for rule, of in found.items()]
        return [
            table([("theorem", "says", "assumes", "witness", "broken by"), *rows], (16, 30, 14, 18, 22), kind="index"),
            *(node for rule, of in found.items() for node in _assumed(rule, of)),
        ]

    def _row(self, rule: str, of: Facts) -> tuple[Cell, ...]:
        witness = ", ".join(f"{_words(goal)}, in {steps} steps" for goal, steps in of["witness"].items())
        control = (
            f"{of['control']['name']}: {_words(of['control']['violates'])} fails in {of['control']['depth']} steps"
        )
        says = " ".join((of["statement"], *of["bundled"]))
        return reference(self.env, "rule", rule), says, numbers(of), witness, control


class ProofNeeds(SphinxDirective):
    """For each theorem, by action, the lemmas that the solver used."""

    def run(self) -> list[nodes.Node]:
        """Render a section for each."""
        found = theorems()
        _demand(self, found)
        return [self._section(rule, of) for rule, of in found.items()]

    def _section(self, rule: str, of: Facts) -> nodes.section:
        shown = nodes.section(ids=[nodes.make_id(f"proof-of-{rule}")], names=[f"proof of {rule}"])
        shown += nodes.title("", f"Proof of {rule}")
        shown += nodes.paragraph(
            "", "", listed((nodes.Text(each) for each in of["theorems"].values()), between=" "), nodes.Text(_size(of))
        )
        rows = [(action, _lemmas(names)) for action, names in of["needs"].items() if names]
        shown += table([("under", "the proof uses"), *rows], (24, 76), code=0)
        sentences = [("lemma", "says"), *sorted(of["lemmas"].items())]
        shown += folded("The lemmas, a sentence each", table(sentences, (30, 70), code=0))
        return shown


class Assumptions(SphinxDirective):
    """Every assumption by number: where it is made, what it says, and what breaks without it."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        rows = [self._row(as_json(assumption)) for assumption in registered()]
        return [table([("", "assumption", "made by", "broken without it by"), *rows], (6, 44, 20, 30), kind="index")]

    def _row(self, assumption: dict[str, Any]) -> tuple[Cell, ...]:
        controls = "; ".join(f"{each['name']} ({each['system']})" for each in assumption["controls"])
        shown = controls or f"no control: {assumption['no_control']}"
        return assumption["id"], _worded(assumption), ", ".join(assumption["systems"]), shown


class DefectStates(SphinxDirective):
    """How many states each hand-written defect of a system adds to those of the true one, or takes away."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        head = ("system", "defect", "violates", "states", "without it", "difference")
        return [table([head, *(_counted(each) for each in defects())], (12, 36, 22, 10, 10, 10))]


def _counted(each: Facts) -> tuple[Cell, ...]:
    difference = f"{each['difference']:+,}" if each["whole"] else "more than counted"
    return (
        each["system"],
        each["name"],
        _words(each["violates"]),
        f"{each['broken']:,}",
        f"{each['mended']:,}",
        difference,
    )


class AfterFaults(SphinxDirective):
    """What happens after which fault, fault by fault, and what each column means."""

    def run(self) -> list[nodes.Node]:
        """Render the meanings, and a folded table for each fault."""
        by_fault: dict[str, list[Facts]] = {}
        for row in happenings():
            by_fault.setdefault(row["fault"], []).append(row)
        return [
            *nodes_of(str(AfterFault.__doc__)),
            *(node for fault, rows in by_fault.items() for node in folded(f"After: {fault}", _happening(rows))),
        ]


def _happening(rows: list[Facts]) -> nodes.table:
    head = ("action", "instance", "steps")
    return table([head, *((row["action"], row["instance"], str(row["steps"])) for row in rows)], (40, 48, 12), code=0)


def numbers(of: Facts) -> str:
    """The numbers of the assumptions, in their order."""
    return ", ".join(assumption["id"] for assumption in of["assumptions"])


def _worded(assumption: Facts) -> str:
    """One assumption by its name: what it says."""
    return f"{_words(assumption['name'])}: {assumption['statement']}"


def _assumed(rule: str, of: Facts) -> list[nodes.Node]:
    each = (f"{assumption['id']} {_worded(assumption)}" for assumption in of["assumptions"])
    lines = (nodes.list_item("", nodes.paragraph("", line)) for line in each)
    return folded(f"What the proof of {rule} assumes", nodes.bullet_list("", *lines))


def _size(of: Facts) -> str:
    return f" {of['obligations']} obligations, {len(of['lemmas'])} lemmas."


def _lemmas(names: list[str]) -> nodes.inline:
    return listed(nodes.literal("", name) for name in names)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _demand(directive: SphinxDirective, found: dict[str, Facts] | Facts) -> None:
    """A page must not show as a theorem what is not proved, has no witness, or that no control breaks."""
    for rule, of in found.items():
        if not of["proved"] or not of["witness"] or of["control"].get("depth", -1) < 0:
            raise directive.error(f"{rule} is no theorem: it needs a proof, a witness and a control that breaks it")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("theorems", Theorems)
    app.add_directive("proof-needs", ProofNeeds)
    app.add_directive("assumptions", Assumptions)
    app.add_directive("defect-states", DefectStates)
    app.add_directive("after-faults", AfterFaults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
