"""Observations of replicating brokers: high watermarks, the log below one, and the producers' results.

Nothing here asks a decision: what was once below a high watermark is remembered by its bytes.
"""

from collections.abc import Iterator
from typing import Final

from model_tests.machines.rule_counts import Ledger
from reference.log.batch import RecordBatch
from reference.replication.replica import Replica
from reference.world.replicas import ReplicasWorld
from reference.world.replicas_nodes import BrokerNode
from spec import rules
from spec.evidence import Layer, evidences
from spec.rules import Circumstances, Rule

REPLICA_RULES: Final = (rules.REPL_HW_BOUNDS, rules.REPL_COMMITTED_SURVIVES, rules.REPL_PREFIX_AGREEMENT)
"""The rules that the machine of replicas has invariants for."""


class ReplicaWatch:
    """What was seen of one world.

    Attributes:
        committed: by partition and base offset, every batch that was below some replica's high watermark.
    """

    def __init__(self, world: ReplicasWorld, ledger: Ledger, circumstances: Circumstances) -> None:
        """Nothing was seen."""
        self.world = world
        self.ledger = ledger
        self.circumstances = circumstances
        self.committed: dict[int, dict[int, RecordBatch]] = {
            partition: {} for partition in range(world.shape.partitions)
        }
        self._watermarks: dict[tuple[int, int, int], int] = {}

    def look(self) -> None:
        """Look at every replica."""
        for partition in self.committed:
            for node, replica in self._replicas(partition):
                self._bounds(node, replica)
                self._agreement(partition, node, replica)
                self._monotone(partition, node, replica)
            self._insync(partition)
            self._survival(partition)

    def look_at_rest(self) -> None:
        """Everything has come to its end: all replicas are alike, and what was acknowledged is there."""
        self.look()
        for partition in self.committed:
            logs = [replica.log for _, replica in self._replicas(partition)]
            start = max(log.log_start for log in logs)
            batches = [list(log.log.walk(start, log.log_end)) for log in logs]
            same = all(listed == batches[0] for listed in batches)
            self._expect(rules.REPL_PREFIX_AGREEMENT, same, f"the replicas of partition {partition} differ at rest")
            self._acknowledged(partition)

    # --- high watermarks --------------------------------------------------------------------------------------

    @evidences(rules.REPL_HW_BOUNDS, Layer.STATEFUL)
    def _bounds(self, node: BrokerNode, replica: Replica) -> None:
        log = replica.log
        within = log.log_start <= log.high_watermark <= log.log_end
        message = f"broker {node.number}: {log.log_start} <= {log.high_watermark} <= {log.log_end} does not hold"
        self._expect(rules.REPL_HW_BOUNDS, within, message)

    def _monotone(self, partition: int, node: BrokerNode, replica: Replica) -> None:
        if replica.leadership is None:
            return
        key, now = (partition, node.number, replica.leader_epoch), replica.log.high_watermark
        before = self._watermarks.get(key, now)
        message = f"broker {node.number} leads, and its high watermark falls from {before} to {now}"
        self._expect(rules.REPL_HW_BOUNDS, now >= before, message)
        self._watermarks[key] = now

    def _insync(self, partition: int) -> None:
        """What the present leader takes for replicated is on all members of the confirmed in-sync set."""
        leader = self._leader(partition)
        if leader is None:
            return
        watermark = leader.log.high_watermark
        for broker in sorted(self.world.metadata.partitions[partition].insync):
            end = self.world.replica(broker, partition).log.log_end
            message = f"the high watermark {watermark} is beyond the log end {end} of broker {broker}, which is in sync"
            self._expect(rules.REPL_HW_BOUNDS, watermark <= end, message)

    # --- what lies below --------------------------------------------------------------------------------------

    @evidences(rules.REPL_PREFIX_AGREEMENT, Layer.STATEFUL)
    def _agreement(self, partition: int, node: BrokerNode, replica: Replica) -> None:
        committed = self.committed[partition]
        for batch in replica.log.log.walk(replica.log.log_start, replica.log.high_watermark):
            if batch.last_offset < replica.log.high_watermark:
                known = committed.setdefault(batch.base_offset, batch)
                message = f"broker {node.number} has another batch at offset {batch.base_offset} than was below before"
                self._expect(rules.REPL_PREFIX_AGREEMENT, known == batch, message)

    @evidences(rules.REPL_COMMITTED_SURVIVES, Layer.STATEFUL)
    def _survival(self, partition: int) -> None:
        leader = self._leader(partition)
        if leader is None:
            return
        there: dict[int, RecordBatch] = {batch.base_offset: batch for batch in leader.log.log}
        for offset, batch in self.committed[partition].items():
            if offset >= leader.log.log_start:
                message = f"broker {leader.node} leads, and lacks the batch at offset {offset} that was replicated"
                self._expect(rules.REPL_COMMITTED_SURVIVES, there.get(offset) == batch, message)

    def _acknowledged(self, partition: int) -> None:
        leader = self._leader(partition)
        if leader is None:
            return
        log = leader.log.log
        values = {record.value for batch in log for record in batch.records()}
        for writer, producer in zip(self.world.shape.writers, self.world.clients.producers, strict=True):
            if writer.acks >= 0:
                continue
            for at, batch in producer.history:
                if at == partition and batch.outcome and batch.offset >= log.log_start:
                    message = f"a batch was acknowledged at offset {batch.offset}, and is not there"
                    self._expect(rules.REPL_COMMITTED_SURVIVES, values.issuperset(batch.values), message)

    # --- who is looked at -------------------------------------------------------------------------------------

    def _replicas(self, partition: int) -> Iterator[tuple[BrokerNode, Replica]]:
        for broker in self.world.shape.assignment(partition):
            yield self.world.nodes[broker], self.world.replica(broker, partition)

    def _leader(self, partition: int) -> Replica | None:
        """The replica that leads under the newest epoch, once it knows; None before, and where no replica may lead."""
        state = self.world.metadata.partitions[partition]
        if state.leader < 0:
            return None
        replica = self.world.replica(state.leader, partition)
        return replica if replica.leadership and replica.leader_epoch == state.leader_epoch else None

    def _expect(self, rule: Rule, holds: bool, message: str) -> None:
        self.ledger.expect(rule, holds, message, self.circumstances)
