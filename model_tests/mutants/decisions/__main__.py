"""Hunt the mutants of the decisions and write the table.

Hunted are the mutants of the decisions that are named, as `append.guards`; without names those of decisions that are
new or have changed since; with `--all` every one.
"""

import sys
from collections.abc import Sequence
from typing import Final

from model_tests.mutants.decisions.hunting import MutantFate, hunt_all
from model_tests.mutants.decisions.layers import LAYERS
from model_tests.mutants.decisions.made import mutants
from model_tests.mutants.decisions.table import TABLE, decision_of, read, write

ALL: Final = "--all"


def main(arguments: Sequence[str]) -> None:
    """Hunt, and write.

    Args:
        arguments: names of decisions, or `--all`.
    """
    kept = () if ALL in arguments or not TABLE.path.exists() else read()
    known = {
        each.mutant: each for each in kept if decision_of(each) not in arguments and each.fate is not MutantFate.UNTRIED
    }
    listed = [each for each in mutants() if each.name not in known]
    hunted = hunt_all(listed, LAYERS, _say) if listed else ()
    known |= {each.mutant: each for each in hunted}
    write(known[each.name] for each in mutants())


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
