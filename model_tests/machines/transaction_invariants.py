"""The rules of transactions as invariants of a machine: each checks in the account whether its rule was broken."""

from typing import Final

from hypothesis.stateful import invariant

from model_tests.machines.accounted import RestingMachine
from spec import rules

TRANSACTION_RULES: Final = (
    rules.IDS_UNIQUE,
    rules.IDS_IDENTITY_NEVER_REPEATS,
    rules.FENCE_ZOMBIE_CANNOT_COMMIT,
    rules.FENCE_COORDINATOR_EPOCH,
    rules.FENCE_EPOCH_EXHAUSTION,
    rules.SEQ_SUCCESSOR,
    rules.TXN_LEGAL_TRANSITION,
    rules.TXN_ONE_OUTCOME,
    rules.TXN_ATOMIC,
    rules.TXN_MARKER_ONCE,
    rules.TXN_REGISTERED_BEFORE_DATA,
    rules.TXN_NO_CROSSTALK,
    rules.TXN_CLIENT_VERDICT,
    rules.TXN_TIMEOUT,
    rules.TXN_COMPLETES,
    rules.TXN_FAILOVER,
    rules.TXN_EXPIRY,
    rules.OFFSETS_ATOMIC,
    rules.OFFSETS_STABLE_FETCH,
    rules.OFFSETS_GENERATION_FENCE,
    rules.LSO_READ_COMMITTED,
)
"""The rules that these machines have invariants for."""


class TransactionInvariants(RestingMachine):
    """What must hold of transactions."""

    @invariant()
    def ids_unique(self) -> None:
        """No producer id belongs to two."""
        self.holds(rules.IDS_UNIQUE)

    @invariant()
    def ids_identity_never_repeats(self) -> None:
        """No identity is given out twice."""
        self.holds(rules.IDS_IDENTITY_NEVER_REPEATS)

    @invariant()
    def fence_zombie_cannot_commit(self) -> None:
        """What zombies wrote is not committed."""
        self.holds(rules.FENCE_ZOMBIE_CANNOT_COMMIT)

    @invariant()
    def fence_coordinator_epoch(self) -> None:
        """Old coordinators are fenced."""
        self.holds(rules.FENCE_COORDINATOR_EPOCH)

    @invariant()
    def fence_epoch_exhaustion(self) -> None:
        """No id is stuck at the last epoch."""
        self.holds(rules.FENCE_EPOCH_EXHAUSTION)

    @invariant()
    def seq_successor(self) -> None:
        """Clients number on without a gap."""
        self.holds(rules.SEQ_SUCCESSOR)

    @invariant()
    def txn_legal_transition(self) -> None:
        """Changes are edges of the graph."""
        self.holds(rules.TXN_LEGAL_TRANSITION)

    @invariant()
    def txn_one_outcome(self) -> None:
        """What was decided stays so."""
        self.holds(rules.TXN_ONE_OUTCOME)

    @invariant()
    def txn_atomic(self) -> None:
        """A transaction has one outcome."""
        self.holds(rules.TXN_ATOMIC)

    @invariant()
    def txn_marker_once(self) -> None:
        """Each partition is ended once."""
        self.holds(rules.TXN_MARKER_ONCE)

    @invariant()
    def txn_registered_before_data(self) -> None:
        """Every written transaction can still be ended."""
        self.holds(rules.TXN_REGISTERED_BEFORE_DATA)

    @invariant()
    def txn_no_crosstalk(self) -> None:
        """Requests act on their own transaction."""
        self.holds(rules.TXN_NO_CROSSTALK)

    @invariant()
    def txn_client_verdict(self) -> None:
        """The results that applications get are true."""
        self.holds(rules.TXN_CLIENT_VERDICT)

    @invariant()
    def txn_timeout(self) -> None:
        """Open transactions time out."""
        self.holds(rules.TXN_TIMEOUT)

    @invariant()
    def txn_completes(self) -> None:
        """Decided transactions come to their end."""
        self.holds(rules.TXN_COMPLETES)

    @invariant()
    def txn_failover(self) -> None:
        """A new coordinator continues from the log."""
        self.holds(rules.TXN_FAILOVER)

    @invariant()
    def txn_expiry(self) -> None:
        """Only ids at rest are forgotten."""
        self.holds(rules.TXN_EXPIRY)

    @invariant()
    def offsets_atomic(self) -> None:
        """Offsets share the fate of their transaction."""
        self.holds(rules.OFFSETS_ATOMIC)

    @invariant()
    def offsets_stable_fetch(self) -> None:
        """Undecided offsets are not returned."""
        self.holds(rules.OFFSETS_STABLE_FETCH)

    @invariant()
    def offsets_generation_fence(self) -> None:
        """Past members commit nothing."""
        self.holds(rules.OFFSETS_GENERATION_FENCE)

    @invariant()
    def lso_read_committed(self) -> None:
        """Readers get what is committed."""
        self.holds(rules.LSO_READ_COMMITTED)
