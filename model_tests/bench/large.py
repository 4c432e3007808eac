"""The check of one very large batch, measured by itself: `python -m model_tests.bench.large DIRECTORY [STEPS]`.

A hundred million steps take some 4 GB in the directory; the driver gets 4 GiB of memory. What is written stays there,
so that another measurement need not write it again.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

from model_tests.bench.checking import timed
from model_tests.bench.trace_batches import simulated, write_batch

STEPS: Final = 100_000_000  # ten times what `make verify` checks in its deep profile
DRIVER_MEMORY: Final = "4g"


def main(directory: Path, steps: int = STEPS) -> None:
    """Write the batch unless it is there, check it once on every core, and print the figures."""
    table, small, large = simulated(), directory / "small", directory / f"steps-{steps}"
    write_batch(table, table.num_rows, small)
    written = large / "_written"
    if not written.exists():
        write_batch(table, steps, large)
        written.touch()
    (timing,) = timed("local[*]", 1, small, large, driver_memory=DRIVER_MEMORY)
    figures = {**asdict(timing), "per_second": timing.per_second, "ratio": timing.ratio}
    print(json.dumps(figures, indent=1))  # noqa: T201  # a command of its own


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
