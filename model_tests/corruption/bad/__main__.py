"""`python -m model_tests.corruption.bad [RULE...]`: make the bad traces again, all or those of some rules."""

import sys

from rich.console import Console

from model_tests.corruption.bad.files import make_all


def main(only: list[str]) -> None:
    """Make them, and say what came of it."""
    console = Console()
    for made in make_all(only):
        console.print(f"{made.rule}: step {made.step}, {made.guard} ({made.origin})", highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])
