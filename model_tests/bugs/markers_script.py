"""Counterexamples about markers of partitions whose brokers leave and return, in the world of transactions."""

from typing import Final

from model_tests.bugs.script import Diverged, GhostViolation, there
from model_tests.bugs.scripted_clients import ScriptedClients
from model_tests.scenarios.transaction_stage import coordinator, partition_name
from reference.broker.transaction_metadata import PREPARED, TopicPartition
from reference.network import NetworkMessage
from reference.world.messages import Request, WriteMarker
from reference.world.transaction_shape import TransactionShape
from spec import rules
from spec.versions import Profile
from spec.vocabulary import TransactionState

PRODUCER: Final = "producer"
COMMIT: Final = 0  # the outcome as `spec.systems.marking` numbers it


SHAPE: Final = TransactionShape(topics=("orders", "invoices"), partitions=1, leaderless_is_known=True)


class MarkersScript(ScriptedClients):
    """One transaction on two partitions, whose coordinator learns at once who leads them."""

    def __init__(self, profile: Profile) -> None:
        """The producer has its identity."""
        super().__init__(profile, (PRODUCER,), SHAPE)
        with self.story.offstage():
            self.producer = self.succeeds(self.asks_for_identity(0))
        self.is_marked = False

    def producer_writes(self, partition: int) -> None:
        """Produce, by which the partition joins the transaction."""
        self.accepted(*self.joins(0, self.producer, partition))

    def producer_ends(self, outcome: int) -> None:
        """EndTxn; the coordinator sends its markers."""
        self.succeeds(self.asks_to_end(0, self.producer, commit=outcome == COMMIT))
        self.coordinator_sends_markers(self.coordinating)

    def leader_writes_marker(self, partition: int) -> None:
        """A marker arrives, and the coordinator gets the answer."""
        self.coordinator_sends_markers(self.coordinating)
        marker = there(self._marker_to(partition), "the coordinator has no marker to send")
        self.broker_receives(marker)
        self.accepted(marker.payload, self.answer(marker.payload))
        self.is_marked = True
        self.answers_to_markers_arrive()

    def coordinator_drops_marker(self, partition: int) -> None:
        """The coordinator looks up where a marker goes, and sends it no more.

        Raises:
            Diverged: it keeps waiting for the partition.
        """
        name = self.names[partition]
        why = "it has no leader" if name in self.brokers.partitions else "there is none"
        remark = f"no endpoint for {partition_name(name)}: {why}"
        self.story.remark(coordinator(self.coordinating), remark)
        self.coordinator_sends_markers(self.coordinating)
        if name in self.metadata.partitions:
            raise Diverged(f"the id stays {self.metadata.state.name}, and the marker for {partition_name(name)} waits")

    def transaction_completes(self) -> None:
        """The coordinator waits for no marker.

        Raises:
            Diverged: it does.
        """
        if self.metadata.state in PREPARED:
            raise Diverged(f"the transaction does not complete: it stays {self.metadata.state.name}")

    def broker_leaves(self, partition: int) -> None:
        """The partition has no leader, and a marker that was under way to it is lost."""
        self.partition_loses_leader(self.names[partition])
        self._loses_marker(partition)

    def broker_returns(self, partition: int) -> None:
        """The partition has a leader again, with its log."""
        self.partition_regains_leader(self.names[partition])

    def topic_is_deleted(self, partition: int) -> None:
        """The partition goes with its log, and a marker that was under way to it is lost."""
        self._loses_marker(partition)
        self.story.remark(partition_name(self.names[partition]), "is deleted")
        self.brokers.delete_topic(self.names[partition].topic)

    def _marker_to(self, partition: int) -> NetworkMessage[Request] | None:
        """The marker that is under way to a partition."""
        for message in self.wires.requests.in_transit:
            match message.payload.body:
                case WriteMarker(partition=name) if name == self.names[partition]:
                    return message
        return None

    def _loses_marker(self, partition: int) -> None:
        marker = self._marker_to(partition)
        if marker is not None:
            self.request_is_lost(marker)

    # --- the ghost --------------------------------------------------------------------------------------------

    def broken(self) -> GhostViolation | None:
        """The transaction is complete, decided on one partition and open on another that has a leader."""
        if self.metadata.state not in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
            return None
        led = [
            number for number, name in enumerate(self.names) if self.brokers.exists(name) and self.brokers.is_led(name)
        ]
        left = [number for number in led if self._is_open(number)]
        if not left or not self.is_marked:
            return None
        where = partition_name(self.names[left[0]])
        text = f"the id is {self.metadata.state.name}, and its transaction is open on {where}"
        return GhostViolation(rules.TXN_ATOMIC, f"{text}: readers wait at offset {self.leader(left[0]).last_stable}")

    def instead(self) -> str:
        """Where the transaction stands."""
        return f"the id is {self.metadata.state.name}, and waits for {len(self.metadata.partitions)} markers"

    def _is_led(self, name: TopicPartition) -> bool:
        return self.brokers.exists(name) and self.brokers.is_led(name)

    def _is_open(self, partition: int) -> bool:
        return self.leader(partition).state.entry(self.producer.producer_id).in_transaction
