"""The page of subjects: for each its rules, its code, its runs, its tests and its page.

What is written here is only where to look; that it is there is checked, and a subject without a place fails the build.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from docutils import nodes
from references import reference
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, listed, table

from model_tests.scenarios.catalogue import SCENARIOS
from model_tests.scenarios.scenario import SUBJECTS
from spec.rules import RULES

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
TESTS: Final = ROOT / "model_tests" / "unit"


class SubjectLocation(NamedTuple):
    """Where a subject is.

    Attributes:
        rules: ids of the rules that state it.
        code: files of the reference that do it.
        tests: files of tests, beneath the unit tests.
        page: that describes it.
    """

    rules: tuple[str, ...]
    code: tuple[str, ...]
    tests: tuple[str, ...]
    page: str


PLACES: Final[Mapping[int, SubjectLocation]] = MappingProxyType(
    {
        1: SubjectLocation(
            ("seq.exactly_once", "seq.order"),
            ("reference/log/producer_append.py", "reference/client/producer.py"),
            ("machines/test_idempotence.py", "reference/simulate/test_cluster.py"),
            "chapters/seq",
        ),
        2: SubjectLocation(
            ("ids.unique", "ids.exhaustion"),
            ("reference/broker/ids.py",),
            ("reference/broker/test_ids.py", "spec/test_blocks.py", "spec/test_ids_system.py"),
            "chapters/ids",
        ),
        3: SubjectLocation(
            ("seq.refusal_is_pure",),
            ("reference/world/authorization.py",),
            ("reference/world/test_authorization.py",),
            "chapters/client",
        ),
        4: SubjectLocation(
            ("seq.successor", "seq.first"),
            ("reference/log/sequence.py",),
            ("reference/log/test_partition.py", "spec/test_append_lemmas.py"),
            "chapters/seq",
        ),
        5: SubjectLocation(
            ("seq.order", "seq.exactly_once"),
            ("reference/client/sender.py", "reference/client/accumulator.py", "reference/client/partition_queue.py"),
            ("reference/client/test_sender.py", "reference/client/test_producer.py"),
            "chapters/client",
        ),
        6: SubjectLocation(
            ("seq.duplicate_window", "seq.window_suffices", "seq.successor", "seq.well_formed"),
            ("reference/log/producer_append.py", "reference/log/validation.py"),
            ("reference/log/test_partition.py", "reference/broker/test_split_out_of_order.py"),
            "chapters/seq",
        ),
        7: SubjectLocation(
            ("seq.state_recoverable",),
            ("reference/log/producer_state.py", "reference/log/recovery.py", "reference/log/snapshot_file.py"),
            ("reference/log/test_recovery.py", "machines/test_disk_machine.py"),
            "chapters/seq",
        ),
        8: SubjectLocation(
            ("seq.exactly_once",), ("reference/client/producer.py",), ("scenarios/test_scenarios.py",), "limits"
        ),
        9: SubjectLocation(
            ("seq.first", "seq.epoch_reset"),
            ("reference/client/producer.py", "reference/log/producer_append.py"),
            ("reference/client/test_producer.py", "spec/test_append.py"),
            "versions",
        ),
        10: SubjectLocation(
            ("fence.zombie_cannot_commit", "fence.stale_epoch", "ids.identity_never_repeats"),
            ("reference/broker/transaction_coordinator.py",),
            ("reference/broker/test_init_producer_id.py", "machines/test_transaction_machine.py"),
            "chapters/fence",
        ),
        11: SubjectLocation(
            ("txn.legal_transition", "txn.one_outcome", "txn.registered_before_data"),
            ("reference/broker/transaction_coordinator.py", "reference/broker/transaction_log.py"),
            ("reference/broker/test_end_txn.py", "reference/broker/test_transaction_log.py"),
            "chapters/txn",
        ),
        12: SubjectLocation(
            ("lso.read_committed", "lso.decided_below", "lso.aborted_index"),
            ("reference/log/txn_index.py", "reference/client/consumer.py"),
            ("reference/log/test_reading.py", "spec/test_lso.py"),
            "chapters/lso",
        ),
        13: SubjectLocation(
            ("offsets.atomic", "offsets.generation_fence", "offsets.stable_fetch"),
            ("reference/broker/group_offsets.py", "reference/client/transactional_producer.py"),
            ("reference/world/test_offsets.py", "spec/test_offsets.py"),
            "chapters/offsets",
        ),
        14: SubjectLocation(
            ("lso.read_committed",),
            ("reference/log/cleaner.py", "reference/client/consumer.py"),
            ("reference/log/test_cleaner.py", "reference/client/test_consumer.py"),
            "scenarios",
        ),
        15: SubjectLocation(
            ("txn.client_verdict",),
            ("reference/client/transaction_states.py",),
            ("reference/client/test_transaction_errors.py",),
            "chapters/client",
        ),
        16: SubjectLocation(
            ("txn.failover",),
            ("reference/broker/transaction_state_manager.py",),
            ("reference/world/test_coordinator_failover.py",),
            "chapters/txn",
        ),
        17: SubjectLocation(
            ("txn.timeout", "txn.expiry"),
            ("reference/broker/transaction_timeouts.py",),
            ("machines/test_transaction_machine.py",),
            "chapters/txn",
        ),
        18: SubjectLocation(
            ("txn.completes",),
            ("reference/broker/marker_channel.py",),
            ("verify/test_liveness_searches.py", "reference/world/test_marker_sender.py"),
            "chapters/txn",
        ),
        19: SubjectLocation(
            ("txn.atomic", "lso.read_committed"),
            ("reference/broker/transaction_coordinator.py",),
            ("scenarios/test_scenarios.py",),
            "comparison",
        ),
        20: SubjectLocation(
            ("seq.order",),
            ("reference/client/partitioners.py", "reference/log/partition_log.py"),
            ("reference/client/test_partitioners.py",),
            "chapters/client",
        ),
        21: SubjectLocation(
            ("offsets.generation_fence",),
            ("reference/broker/group_membership.py", "reference/client/assignment.py"),
            ("reference/broker/test_group_membership.py", "reference/client/test_assignors.py"),
            "chapters/offsets",
        ),
        22: SubjectLocation(
            ("repl.hw_bounds", "repl.committed_survives", "repl.prefix_agreement"),
            ("reference/replication/leadership.py", "reference/replication/following.py"),
            ("reference/replication/test_leadership.py", "reference/replication/test_following.py"),
            "chapters/repl",
        ),
        23: SubjectLocation(
            ("repl.committed_survives",),
            ("reference/replication/controller.py",),
            ("reference/replication/test_controllers.py",),
            "chapters/repl",
        ),
        24: SubjectLocation(
            ("seq.state_recoverable",),
            ("reference/log/segment.py", "reference/log/sparse_index.py", "reference/log/disk_log.py"),
            ("reference/log/test_disk_log.py", "reference/log/test_files.py"),
            "chapters/storage",
        ),
        25: SubjectLocation(
            ("seq.first", "txn.no_crosstalk"),
            ("reference/simulate/simulation.py",),
            ("reference/simulate/test_simulation.py", "spec/test_append.py"),
            "versions",
        ),
    }
)
"""By the number of the subject."""


def misplaced() -> Iterator[str]:
    """What is not where it is said to be, a line each."""
    for number in SUBJECTS:
        if number not in PLACES:
            yield f"subject {number} ({SUBJECTS[number]}) has no place"
        if not any(number in run.items for run in SCENARIOS.values()):
            yield f"subject {number} ({SUBJECTS[number]}) has no run that shows it"
    for number, place in PLACES.items():
        if number not in SUBJECTS:
            yield f"place {number} is of no subject"
        yield from (f"subject {number}: there is no rule {rule!r}" for rule in place.rules if rule not in RULES)
        yield from (f"subject {number}: there is no file {code}" for code in place.code if not (ROOT / code).exists())
        yield from (f"subject {number}: there is no test {test}" for test in place.tests if not (TESTS / test).exists())
        if not (DOCS / f"{place.page}.md").exists():
            yield f"subject {number}: there is no page {place.page!r}"


class Covered(SphinxDirective):
    """Every subject, and where it is."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        wrong = list(misplaced())
        if wrong:
            raise self.error("; ".join(wrong))
        head: tuple[Cell, ...] = ("subject", "rules", "done by", "runs", "tests")
        rows = [self._row(number, about) for number, about in SUBJECTS.items()]
        return [table([head, *rows], (18, 16, 20, 28, 18), kind="index")]

    def _row(self, number: int, about: str) -> tuple[Cell, ...]:
        place = PLACES[number]
        rules = listed(reference(self.env, "rule", rule) for rule in place.rules)
        runs = listed(reference(self.env, "scenario", name) for name, run in SCENARIOS.items() if number in run.items)
        return self._page(about, place.page), rules, _files(place.code), runs, _files(place.tests)

    def _page(self, about: str, page: str) -> nodes.Node:
        here = addnodes.pending_xref(
            "", refdomain="std", reftype="doc", reftarget=f"/{page}", refdoc=self.env.docname, refexplicit=True
        )
        here += nodes.inline("", about)
        return here


def _files(paths: tuple[str, ...]) -> nodes.inline:
    return listed(nodes.literal("", path.removeprefix("reference/")) for path in paths)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("covered", Covered)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
