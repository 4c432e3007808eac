"""`python -m model_tests.sources CLONE [CLONE]`: hold the table of sources against clones of Kafka."""

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from model_tests.sources.check import Clones, check, counted, unseen
from spec.sources.table import known


def main(arguments: Sequence[str]) -> int:
    """Print what the clones do not bear out, and how much is known.

    Args:
        arguments: git directories of clones of Kafka.

    Returns:
        1 where a row is not borne out, 2 where nothing could be looked at.
    """
    console = Console(soft_wrap=True)
    folders = [Path(argument) for argument in arguments]
    if not folders or not all(folder.is_dir() for folder in folders):
        console.print("Name the git directories of one or more clones of Kafka.")
        return 2
    clones = Clones(folders)
    found = list(check(clones))
    for finding in found:
        console.print(str(finding), markup=False, highlight=False)
    missing = unseen(clones)
    if missing:
        console.print(f"Without source here: {', '.join(missing)}")
    console.print("Rows: " + ", ".join(f"{number} {kind}" for kind, number in counted().items()))
    console.print("Answers: " + ", ".join(f"{known().count()[kind]} {kind}" for kind in counted()))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
