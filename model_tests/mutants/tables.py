"""Tables kept beside the code: `python -m model_tests.mutants.tables` names each that is stale, and how to renew it."""

import sys
from typing import Final

from model_tests.common.derived import complaints
from model_tests.judging.branch_names import TABLE as BRANCHES
from model_tests.mutants.decisions.crossing_page import CROSSING
from model_tests.mutants.decisions.made import mutants
from model_tests.mutants.decisions.table import TABLE as DECISIONS
from model_tests.mutants.decisions.table import not_hunted, read
from model_tests.mutants.states import TABLE as STATES

TABLES: Final = (DECISIONS, CROSSING, STATES, BRANCHES)


def stale() -> tuple[str, ...]:
    """What is stale in the tables, a line each; empty if nothing is."""
    found = complaints(TABLES)
    untried = 0 if found else not_hunted(read(), mutants())
    return (*found, f"{untried} equivalences of mutants are stale: run {DECISIONS.renew}") if untried else found


def main() -> int:
    """Print a line for each table that is not about the code as it is; 1 if there is one."""
    found = stale()
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
