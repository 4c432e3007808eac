"""Try the mutants of the decisions in every layer, and keep what is found under `build/mutants`.

Tried are the mutants of decisions that are new or have changed since, and of those that are named, as `append.guards`;
with `--all` every one. The exit code is 1 if a decision or a mutant is not detected as it is expected to be.
"""

import sys
from collections.abc import Sequence
from typing import Final

from model_tests.mutants.decisions.expected import shortcomings
from model_tests.mutants.decisions.kept import kept, try_all
from model_tests.mutants.decisions.mutation_loop import MutationResults

ALL: Final = "--all"


def main(arguments: Sequence[str]) -> int:
    """Try what is missing, and print what is not as expected; 1 if anything is not.

    Args:
        arguments: names of decisions, or `--all`.
    """
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
