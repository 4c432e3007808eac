"""Try the mutants of the decisions in every layer, and keep what is found under `build/mutants`.

Tried are the mutants of decisions that are new or have changed since, and of those that are named, as `append.guards`;
with `--all` every one. The exit code is 1 if a decision or a mutant is not detected as it is expected to be,
and 2 if there is no such decision.
"""

import sys
from collections.abc import Sequence
from typing import Final

from model_tests.mutants.decisions.expected import shortcomings
from model_tests.mutants.decisions.kept import kept, try_all
from model_tests.mutants.decisions.made import mutants
from model_tests.mutants.decisions.mutation_loop import MutationResults

ALL: Final = "--all"


def main(arguments: Sequence[str]) -> int:
    """Try what is missing, and print what is not as expected; 1 if anything is not, 2 of an unknown decision.

    Args:
        arguments: names of decisions, or `--all`.
    """
    unknown = set(arguments) - {ALL, *(mutant.decision for mutant in mutants())}
    if unknown:
        _say(f"no decision is called {min(unknown)!r}; they are called as in spec/protocol, for example append.guards")
        return 2
    results = MutationResults() if ALL in arguments else kept(arguments)
    try_all(results, _say)
    found = shortcomings(results)
    for line in found:
        _say(line)
    return 1 if found else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
