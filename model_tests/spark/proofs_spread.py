"""Tasks of proofs spread over a cluster by Spark: each executor solves by itself, and only answers travel."""

from collections.abc import Iterable, Iterator, Sequence

from model_tests.spark.session import session
from model_tests.verify.proving import Done, ProofTask, ProofWorker, Spread
from spec.engines.proof_cache import Entries
from spec.engines.solving import SolverSettings


def on_spark(master: str) -> Spread:
    """Do the tasks where Spark runs.

    Args:
        master: as `local[*]` or the address of a cluster.
    """

    def spread(tasks: Sequence[ProofTask], settings: SolverSettings, entries: Entries | None) -> list[Done]:
        context = session(master).sparkContext
        kept = context.broadcast(entries)

        def do(numbered: Iterable[tuple[int, ProofTask]]) -> Iterator[tuple[int, Done]]:
            worker = ProofWorker(settings, kept.value)
            return ((number, worker.do(task)) for number, task in numbered)

        slices = min(len(tasks), context.defaultParallelism)
        turns = sorted(enumerate(tasks), key=lambda one: one[0] % slices)
        found = context.parallelize(turns, slices).mapPartitions(do).collect()
        return [done for _, done in sorted(found, key=lambda one: one[0])]

    return spread
