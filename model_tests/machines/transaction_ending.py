"""The end of a run: faults stop, everything comes to rest, and then nothing may be stuck, lost or hidden."""

from typing import Final

from model_tests.machines.transaction_coordinator_log import AT_REST
from model_tests.machines.transaction_events import TransactionEvents
from model_tests.machines.transaction_setting import TIMEOUT_MS
from reference.tape import Tape
from reference.world.instances import ApplicationRun
from reference.world.settling import settle
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import MAX_EPOCH

ROUNDS: Final = 80
"""In which whatever is under way must come to its end."""


class TransactionRun(TransactionEvents):
    """A world that can be brought to rest."""

    def after_event(self) -> None:
        """Nothing more: the onlooker looks whenever something is written."""

    def run_until_idle(self) -> None:
        """Without further faults everything is decided, complete and visible, and every id is of use."""
        self.happens("faults stop")
        self._faults_stop()
        settle(self, ROUNDS)
        self.clock.advance(max(TIMEOUT_MS, self.shape.delivery_timeout_ms) + 1)
        for node in range(self.shape.nodes):
            self.coordinator_aborts_timed_out(node)
        self._settles()
        self.looks()
        self._everything_is_decided()
        if self.ledger.broken:
            return
        for name in self.setting.names:
            self._is_of_use(name)
        self.consumer_reads(Tape.of_number(1))
        self.group_looks_up_offsets(Tape.of_number(0))
        self.verdicts.at_rest([written for history in self.histories.values() for written in history.written])

    def _faults_stop(self) -> None:
        for node in self.brokers.nodes:
            node.log.faults.clear()
        while self.simulated.fault_is_mended(Tape.of_number(0)):
            pass

    @evidences(rules.TXN_COMPLETES, Layer.STATEFUL)
    def _settles(self) -> None:
        """All that is under way ends, once the time limits of what cannot succeed have passed."""
        at_rest = settle(self, ROUNDS)
        waiting = [str(request.body) for request in self.wires.open.values()]
        self.watch.expect(rules.TXN_COMPLETES, at_rest, f"something never ends: {waiting}")

    @evidences(rules.TXN_COMPLETES, Layer.STATEFUL)
    @evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.STATEFUL)
    def _everything_is_decided(self) -> None:
        """No transaction is left open or prepared, and no partition has data whose transaction can never be ended."""
        for name, history in self.coordinators.ids.items():
            at_rest = history.state is None or history.state in AT_REST
            self.watch.expect(rules.TXN_COMPLETES, at_rest, f"{name} stays in {history.state}")
            if at_rest and history.current is not None and history.current.completed:
                lacking = history.current.registered - history.current.marked
                message = f"{history.current} is complete without markers on {lacking}"
                self.watch.expect(rules.TXN_MARKER_ONCE, not lacking, message)
        for partition in self.histories.values():
            hanging = ", ".join(map(str, partition.open()))
            message = f"{hanging} can never be ended"
            self.watch.expect(rules.TXN_REGISTERED_BEFORE_DATA, not hanging, message)

    @evidences(rules.FENCE_EPOCH_EXHAUSTION, Layer.STATEFUL)
    def _is_of_use(self, name: str) -> None:
        """A new instance of an id commits a transaction."""
        instance = self.application_starts(name)
        self.happens(f"instance {instance.number} of {name} tries whether the id is of use")
        self.application_initializes(instance)
        settle(self, ROUNDS)
        committed = self._commits(instance)
        known = self.coordinators.of(name).known
        message = f"a new instance of {name} cannot commit; the id is {known}"
        self.watch.expect(rules.TXN_COMPLETES, committed, message)
        if known is not None and self.setting.first_epoch >= 0:
            self.watch.expect(rules.FENCE_EPOCH_EXHAUSTION, committed and known.epoch < MAX_EPOCH, message)

    def _commits(self, instance: ApplicationRun) -> bool:
        if instance.producer.manager.identity is None or instance.producer.state.name != "READY":
            return False
        self.application_begins(instance)
        self.application_sends(instance, self.partitions[-1])
        settle(self, ROUNDS)
        if instance.producer.state.name != "IN_TRANSACTION":
            return False
        self.application_commits(instance)
        settle(self, ROUNDS)
        return instance.transaction.is_committed
