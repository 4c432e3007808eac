"""Hunt every mutant of the decisions; write the table, its page of the docs, and `build/mutants.json`.

With `--new`, only mutants that the table does not have are hunted, and those that are no longer made are left out.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from model_tests.mutants.decisions.hunting import hunt_all
from model_tests.mutants.decisions.layers import LAYERS
from model_tests.mutants.decisions.made import mutants
from model_tests.mutants.decisions.table import PAGE, TABLE, page, read, write

BUILD = Path("build/mutants.json")


def main(*, only_new: bool) -> None:
    """Hunt, and write."""
    known = {each.mutant: each for each in read()} if only_new and TABLE.exists() else {}
    hunted = hunt_all([each for each in mutants() if each.name not in known], LAYERS, _say)
    known |= {each.mutant: each for each in hunted}
    table = tuple(known[each.name] for each in mutants())
    write(table)
    PAGE.write_text(page(table))
    BUILD.parent.mkdir(exist_ok=True)
    BUILD.write_text(json.dumps([asdict(each) for each in table], indent=1) + "\n")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(only_new="--new" in sys.argv[1:])
