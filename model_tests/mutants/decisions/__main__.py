"""Try the mutants of the decisions, and write the tables.

Tried are the mutants of decisions that are new or have changed since, and of those that are named, as `append.guards`;
with `--all` every one. The tables are written after each layer, so that an interrupted run continues.
"""

import sys
from collections.abc import Sequence
from typing import Final

from model_tests.mutants.decisions import crossing_page, table
from model_tests.mutants.decisions.crossing import Sight
from model_tests.mutants.decisions.layers import LAYERS, NAMING
from model_tests.mutants.decisions.made import mutants
from model_tests.mutants.decisions.mutation_loop import MutationResults, try_mutants

ALL: Final = "--all"


def main(arguments: Sequence[str]) -> None:
    """Try what is missing, and write.

    Args:
        arguments: names of decisions, or `--all`.
    """
    results = MutationResults() if ALL in arguments else known(arguments)
    for _ in try_mutants(mutants(), LAYERS, results, crossed=NAMING, say=_say):
        write(results)
    write(results)


def known(but: Sequence[str] = ()) -> MutationResults:
    """The results of the tables, as far as they are about the decisions as they are now.

    Args:
        but: decisions of which everything is to be looked for again.
    """
    fates = table.read() if table.TABLE.path.exists() else ()
    cells = crossing_page.read_cells() if crossing_page.CROSSING.path.exists() else ()
    return MutationResults(
        {each.mutant: each for each in fates if each.decision not in but},
        {(e.decision, e.layer): e for e in cells if e.decision not in but and e.sight is not Sight.UNTRIED},
    )


def write(results: MutationResults) -> None:
    """Write both tables."""
    table.write(results.fates_of(mutants()))
    crossing_page.write_cells(results.cells_of(mutants(), NAMING))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
