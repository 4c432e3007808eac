"""Steps on the page: `judged-steps` shows which lemma ties each action of a proved system to the judge of its steps."""

from collections.abc import Iterator, Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, listed, table

from model_tests.verify.theorems import SYSTEMS
from spec.systems.idempotence.judged import UNJUDGED as OF_STREAMS
from spec.systems.language import StepLemma
from spec.systems.partition.judged import UNJUDGED as OF_PARTITIONS
from spec.systems.transactions.judged import LEFT_OUT
from spec.systems.transactions.judged import UNJUDGED as OF_TRANSACTIONS

ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "transactions": OF_TRANSACTIONS,
    "partition": OF_PARTITIONS,
    "idempotence": OF_STREAMS,
}
"""By the system: actions without such a lemma, and what judges them instead."""


class JudgedSteps(SphinxDirective):
    """The lemmas of steps of every system, and what has none."""

    def run(self) -> list[nodes.Node]:
        """Render three tables."""
        steps = [("system", "step", "says", "given"), *(_row(*found) for found in lemmas())]
        others = [(system, each, why) for system, reasons in ELSEWHERE.items() for each, why in reasons.items()]
        left_out = [("recorded step", "why no action is one"), *LEFT_OUT.items()]
        return [
            table(steps, (12, 28, 44, 16)),
            nodes.paragraph("", "These actions have no such lemma: no decision on one recorded step is made of them."),
            table([("system", "action", "judged by"), *others], (12, 28, 60)),
            nodes.paragraph("", "These recorded steps are none of the system of transactions."),
            table(left_out, (28, 72), code=0),
        ]


def lemmas() -> Iterator[tuple[str, StepLemma]]:
    """Name of the system and lemma, under version 2 and, where there is none, under version 1."""
    for name in ELSEWHERE:
        found = {lemma.name: lemma for version in (1, 2) for lemma in SYSTEMS[name](version).steps}
        yield from ((name, lemma) for lemma in found.values())


def _row(system: str, lemma: StepLemma) -> tuple[Cell, ...]:
    return system, lemma.action.name, lemma.sentence, listed(nodes.literal("", name) for name, _ in lemma.given)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("judged-steps", JudgedSteps)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
