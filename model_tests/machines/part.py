"""The stateful part of `eos verify`: runs the machines, and counts how often each rule was at stake."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from model_tests.machines.disk_invariants import DISK_RULES
from model_tests.machines.disk_machine import DiskMachine
from model_tests.machines.idempotence import IDEMPOTENCE_RULES, ForgetfulMachine, IdempotenceMachine
from model_tests.machines.pipeline_control import pipeline_controls
from model_tests.machines.pipeline_machine import PipelineMachine
from model_tests.machines.pipeline_watch import PIPELINE_RULES
from model_tests.machines.replica_machine import ReplicaMachine, UncleanReplicaMachine
from model_tests.machines.replica_watch import REPLICA_RULES
from model_tests.machines.rule_counts import Ledger, LedgerEntry, RuleViolated
from model_tests.machines.sending_events import SENDING_RULES
from model_tests.machines.sending_machine import SendingMachine
from model_tests.machines.side_by_side_coordinators import OF_COORDINATORS
from model_tests.machines.side_by_side_groups import OF_GROUPS
from model_tests.machines.side_by_side_memory import OF_MEMORY
from model_tests.machines.side_by_side_partitions import OF_PARTITIONS
from model_tests.machines.side_by_side_replicas import OF_REPLICAS
from model_tests.machines.transaction_ids import PRODUCER_ID_RULES, exhaustion_control, use_up_producer_ids
from model_tests.machines.transaction_machine import MACHINES, TRANSACTION_RULES, TransactionMachine
from model_tests.verify.coverage import joined
from model_tests.verify.effort import hypothesis_settings
from model_tests.verify.results import PartResult, Result, RuleVerdict, RunEffort
from spec.evidence import Layer
from spec.rules import Rule

COMPARED: Final = (*OF_COORDINATORS, *OF_MEMORY, *OF_GROUPS, *OF_PARTITIONS, *OF_REPLICAS)
"""What decision and reference are compared on, for every small input."""

RULES: Final = tuple(
    dict.fromkeys(
        (
            *IDEMPOTENCE_RULES,
            *DISK_RULES,
            *TRANSACTION_RULES,
            *PIPELINE_RULES,
            *REPLICA_RULES,
            *PRODUCER_ID_RULES,
            *(each.rule for each in COMPARED),
        )
    )
)
"""The rules that the machines have invariants for."""

EXAMPLES: Final = {RunEffort.QUICK: 240, RunEffort.DEFAULT: 400, RunEffort.DEEP: 5000}
"""A run of these machines is cheap: the quick efforts get more of them than other state machines."""

FORGETFUL_SHARE: Final = 5
"""One in so many examples is run with producer state that expires."""

DISK_EXAMPLES: Final = {RunEffort.QUICK: 120, RunEffort.DEFAULT: 400, RunEffort.DEEP: 5000}
"""Examples of the machine over the log on disk."""

TRANSACTION_EXAMPLES: Final = {RunEffort.QUICK: 90, RunEffort.DEFAULT: 120, RunEffort.DEEP: 3000}
"""Examples of each machine of transactions."""

PIPELINE_EXAMPLES: Final = {RunEffort.QUICK: 4, RunEffort.DEFAULT: 12, RunEffort.DEEP: 2000}
"""Examples of the machine of pipelines."""

REPLICA_EXAMPLES: Final = {RunEffort.QUICK: 20, RunEffort.DEFAULT: 60, RunEffort.DEEP: 3000}
"""Examples of the machine of replicas."""

SENDING_EXAMPLES: Final = {RunEffort.QUICK: 20, RunEffort.DEFAULT: 60, RunEffort.DEEP: 5000}
"""Examples of the machine of a producer of records."""

PRODUCER_ID_RUNS: Final = {RunEffort.QUICK: 10, RunEffort.DEFAULT: 40, RunEffort.DEEP: 1000}
"""Runs in which the producer ids are used up."""


@dataclass(frozen=True, slots=True)
class Account:
    """What the runs of one machine came to.

    Attributes:
        rules: that its invariants answer for.
        failures: rules that broke, or what stopped the machine.
        unclaimed_ledger: the account of the same machine in circumstances in which some of the rules are not claimed.
    """

    rules: Sequence[Rule]
    ledger: Ledger
    failures: tuple[LedgerEntry | str, ...]
    seconds: float
    unclaimed_ledger: Ledger = field(default_factory=Ledger)

    def results(self) -> tuple[Result, ...]:
        """What the runs say about each rule, and about others that the monitor has seen broken."""
        broken = (failure.rule for failure in self.failures if isinstance(failure, LedgerEntry))
        seconds = self.seconds / len(self.rules)
        return tuple(
            result(rule, self.ledger, self.failures, seconds) for rule in dict.fromkeys((*self.rules, *broken))
        )

    def known(self, rule: Rule) -> int:
        """Violations of a rule where it is not claimed."""
        return sum(ledger.known[rule] + ledger.monitored(rule).known for ledger in (self.ledger, self.unclaimed_ledger))


def evidence(effort: RunEffort) -> PartResult:
    """Run the machines, and say of each rule what they found."""
    runs = (on_producers, on_sending, on_disk, on_transactions, on_pipelines, on_replicas, on_producer_ids)
    accounts = (*(run(effort) for run in runs), on_small_inputs())
    ledgers = [ledger for account in accounts for ledger in (account.ledger, account.unclaimed_ledger)]
    failures = [failure for account in accounts for failure in account.failures]
    return PartResult(
        name="stateful",
        results=tuple(joined(result for account in accounts for result in account.results()).values()),
        controls=(exhaustion_control(), *pipeline_controls()),
        extra={
            "examples": sum(ledger.runs for ledger in ledgers),
            "steps": sum(ledger.steps for ledger in ledgers),
            "known": sum(ledger.known.total() for ledger in ledgers),
            "judged": sum(ledger.findings.total() for ledger in ledgers),
            "known_by_rule": {rule.id: sum(a.known(rule) for a in accounts if rule in a.rules) for rule in RULES},
        },
        failures=tuple(failure for failure in failures if isinstance(failure, str)),
    )


def on_producers(effort: RunEffort) -> Account:
    """Run the machine with state retained, and a smaller number of runs with state that expires."""
    chosen = settings(hypothesis_settings(effort), max_examples=EXAMPLES[effort])
    fewer = settings(chosen, max_examples=EXAMPLES[effort] // FORGETFUL_SHARE)
    retained, forgetful = Ledger(), Ledger()
    started = time.monotonic()
    failures = (
        *failures_of(IdempotenceMachine, retained, chosen),
        *failures_of(ForgetfulMachine, forgetful, fewer),
    )
    return Account(IDEMPOTENCE_RULES, retained, failures, time.monotonic() - started, forgetful)


def on_sending(effort: RunEffort) -> Account:
    """Run the machine of a producer of records."""
    chosen = settings(hypothesis_settings(effort), max_examples=SENDING_EXAMPLES[effort])
    ledger, started = Ledger(), time.monotonic()
    failures = failures_of(SendingMachine, ledger, chosen)
    return Account(SENDING_RULES, ledger, tuple(failures), time.monotonic() - started)


def on_disk(effort: RunEffort) -> Account:
    """Run the machine over one partition on disk."""
    chosen = settings(hypothesis_settings(effort), max_examples=DISK_EXAMPLES[effort])
    ledger, started = Ledger(), time.monotonic()
    failures = failures_of(DiskMachine, ledger, chosen)
    return Account(DISK_RULES, ledger, tuple(failures), time.monotonic() - started)


def on_transactions(effort: RunEffort) -> Account:
    """Run the machines of transactions, one after the other."""
    chosen = settings(hypothesis_settings(effort), max_examples=TRANSACTION_EXAMPLES[effort])
    ledger, started, failures = Ledger(), time.monotonic(), list[LedgerEntry | str]()
    for machine in MACHINES:
        failures += failures_of(machine, ledger, chosen)
    return Account(TRANSACTION_RULES, ledger, tuple(failures), time.monotonic() - started)


def on_pipelines(effort: RunEffort) -> Account:
    """Run the machine of pipelines."""
    chosen = settings(hypothesis_settings(effort), max_examples=PIPELINE_EXAMPLES[effort])
    ledger, started = Ledger(), time.monotonic()
    failures = failures_of(PipelineMachine, ledger, chosen)
    return Account(PIPELINE_RULES, ledger, tuple(failures), time.monotonic() - started)


def on_replicas(effort: RunEffort) -> Account:
    """Run the machine of replicas, and a smaller number of runs in which replicated records may be lost."""
    chosen = settings(hypothesis_settings(effort), max_examples=REPLICA_EXAMPLES[effort])
    fewer = settings(chosen, max_examples=REPLICA_EXAMPLES[effort] // FORGETFUL_SHARE)
    clean, unclean, started = Ledger(), Ledger(), time.monotonic()
    failures = (
        *failures_of(ReplicaMachine, clean, chosen),
        *failures_of(UncleanReplicaMachine, unclean, fewer),
    )
    return Account(REPLICA_RULES, clean, failures, time.monotonic() - started, unclean)


def on_producer_ids(effort: RunEffort) -> Account:
    """Have brokers use up the last producer ids."""
    ledger, started = Ledger(), time.monotonic()
    for seed in range(PRODUCER_ID_RUNS[effort]):
        use_up_producer_ids(seed, ledger)
    return Account(PRODUCER_ID_RULES, ledger, tuple(ledger.broken), time.monotonic() - started)


def on_small_inputs() -> Account:
    """Put every small input to decision and reference."""
    ledger, started = Ledger(), time.monotonic()
    for each in COMPARED:
        each.compare(ledger)
    requested = tuple(dict.fromkeys(each.rule for each in COMPARED))
    return Account(requested, ledger, tuple(ledger.broken), time.monotonic() - started)


def failures_of(
    machine: type[
        IdempotenceMachine | SendingMachine | DiskMachine | TransactionMachine | PipelineMachine | ReplicaMachine
    ],
    ledger: Ledger,
    chosen: settings,
) -> list[LedgerEntry | str]:
    """Run a machine on an account of its own, and say what broke: rules, or the machine itself."""
    accounted = type(machine.__name__, (machine,), {"ledger": ledger})
    try:
        run_state_machine_as_test(accounted, settings=chosen)
    except Exception as error:  # noqa: BLE001  # whatever stops the machine is a failure of this part, and is reported
        return [reported(cause) for cause in causes(error)]
    return []


def causes(error: BaseException) -> list[BaseException]:
    """The errors in a group of errors, Hypothesis raises one if it found several; else the error itself."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for inner in error.exceptions for cause in causes(inner)]
    return [error]


def reported(error: BaseException) -> LedgerEntry | str:
    """The rule that broke, or one line about an error that is none."""
    if isinstance(error, RuleViolated):
        return error.violation
    return f"the machine stopped: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def result(rule: Rule, ledger: Ledger, failures: Iterable[LedgerEntry | str], seconds: float) -> Result:
    """What the runs say about a rule; of one that was never at stake they say nothing, and that is a failure.

    Args:
        rule: that is at stake.
        ledger: where rules at stake are counted, and violations kept.
        failures: of the runs.
        seconds: that the runs took.
    """
    broken = next((found for found in failures if isinstance(found, LedgerEntry) and found.rule == rule), None)
    return Result(
        rule=rule,
        layer=Layer.STATEFUL,
        verdict=RuleVerdict.VIOLATED if broken else RuleVerdict.HOLDS,
        count=ledger.at_stake[rule],
        seconds=round(seconds, 3),
        figures={
            "examples": ledger.runs,
            "steps": ledger.steps,
            "at_stake": ledger.at_stake[rule],
            "by_decision": ledger.decided[rule],
            "by_monitor": ledger.monitored(rule).judged,
        },
        detail=str(broken) if broken else "",
    )
