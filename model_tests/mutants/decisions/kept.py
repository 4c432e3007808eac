"""The results of the mutation loop, kept under `build/mutants`: what is there and not stale is not tried again."""

from collections.abc import Callable, Sequence

from model_tests.mutants.decisions import crossing_page, states, table
from model_tests.mutants.decisions.crossing import Sight
from model_tests.mutants.decisions.layers import LAYERS, NAMING, SEARCHES
from model_tests.mutants.decisions.made import mutants
from model_tests.mutants.decisions.mutation_loop import MutationResults, try_mutants


def kept(but: Sequence[str] = ()) -> MutationResults:
    """What earlier runs found, as far as it is about the decisions and systems as they are now.

    Args:
        but: decisions of which everything is to be tried again.
    """
    fates, cells, counts = table.read(), crossing_page.read_cells(), states.read()
    return MutationResults(
        {each.mutant: each for each in fates if each.decision not in but},
        {(e.decision, e.layer): e for e in cells if e.decision not in but and e.sight is not Sight.UNTRIED},
        {each.mutant: each for each in counts if each.mutant.partition(":")[0] not in but},
    )


def write(results: MutationResults) -> None:
    """Keep what is known; of a mutant that not every layer has tried yet nothing is."""
    known = [mutant for mutant in mutants() if results.is_settled(mutant)]
    table.write(results.fates_of(known))
    crossing_page.write_cells(results.cells_of(mutants(), NAMING))
    states.write(results.counts[mutant.name] for mutant in mutants() if mutant.name in results.counts)


def try_all(results: MutationResults, say: Callable[[str], None] = lambda line: None) -> None:
    """Try what is missing in every layer; what is known is kept after each, so that an interrupted run continues.

    Args:
        results: what is known; the new is added.
        say: called with the progress.
    """
    for _ in try_mutants(mutants(), LAYERS, results, NAMING, {SEARCHES: states.count}, say):
        write(results)
    write(results)
