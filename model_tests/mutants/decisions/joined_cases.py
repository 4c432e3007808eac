"""The join of a coordinator's log with its partitions as places: evidence of a few transactions, one thing changed.

No recording has every way in which a transaction can be broken. So each case changes a record of sound evidence.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from model_tests.audit.partition_verdict import AuditedTransactionLog
from model_tests.audit.transactions import audit_transactions
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.joined_evidence import (
    ABORT,
    COMMIT,
    OFFSETS,
    SECOND,
    A,
    B,
    Changes,
    Step,
    change,
    sound,
)
from spec import rules
from spec.vocabulary import ABSENT, TransactionState

LAST: Final = 5
"""The number of the last transaction."""

OPEN: Final = MappingProxyType(
    {
        "state": TransactionState.ONGOING.value,
        "outcome": ABSENT,
        "prepared_offset": ABSENT,
        "prepared_ms": ABSENT,
        "completed_offset": ABSENT,
        "completed_ms": ABSENT,
        "coordinator_epoch": ABSENT,
    }
)
PREPARED: Final = MappingProxyType(
    {"state": TransactionState.PREPARE_COMMIT.value, "completed_offset": ABSENT, "completed_ms": ABSENT}
)
NONE: Final[Changes] = MappingProxyType({})
AGAIN: Final = MappingProxyType({"offset": 900, "timestamp": 376 * SECOND})
OF_IT: Final = MappingProxyType({"first_offset": 850, "last_offset": 859, "marker": 4})


OTHERS: Final = MappingProxyType({"producer_id": 8, "marker": ABSENT})
"""Data of another producer."""


def _excused(*steps: Step) -> tuple[Step, ...]:
    return (("no marker", (A, 1), NONE), *steps)


def _cut(*steps: Step) -> tuple[Step, ...]:
    """The last marker of a partition is gone, and its data too."""
    return (("no marker", (A, 4), NONE), ("run", (A, 4), OTHERS), *steps)


def _unmarked_before_hole(*steps: Step) -> tuple[Step, ...]:
    """The marker of a transaction is gone, and the record of the next one, whose marker ends the data of both."""
    hole = (("no transaction", 2, NONE), ("transaction", 2, {"after_hole": True}))
    return (("no marker", (A, 1), NONE), *steps, *hole)


CASES: Final[Mapping[str, tuple[Step, ...]]] = MappingProxyType(
    {
        "sound": (),
        "one other outcome": (("marker", (B, 0), {"outcome": ABORT}),),
        "the other outcome everywhere": tuple(("marker", (n, 0), {"outcome": ABORT}) for n in (A, B, OFFSETS)),
        "the other outcome of the offsets": (("marker", (OFFSETS, 0), {"outcome": ABORT}),),
        "the other outcome of the outputs": tuple(("marker", (n, 0), {"outcome": ABORT}) for n in (A, B)),
        "the other outcome of an output and the offsets": tuple(
            ("marker", (n, 0), {"outcome": ABORT}) for n in (A, OFFSETS)
        ),
        "an epoch too high": (("marker", (A, 1), {"producer_epoch": 9}),),
        "the open epoch": (("marker", (A, 1), {"producer_epoch": 1}),),
        "the open epoch of a commit": (("marker", (A, 0), {"producer_epoch": 0}),),
        "marker and data of an epoch": (
            ("marker", (A, 2), {"producer_epoch": 5}),
            ("run", (A, 2), {"producer_epoch": 5}),
        ),
        "a marker of an earlier epoch, with data of both": (
            ("marker", (A, 4), {"producer_epoch": 3}),
            ("later run", (A, 4), {**OF_IT, "producer_epoch": 3}),
        ),
        "marker and data, the epoch unknown": (
            ("marker", (A, 2), {"producer_epoch": 5}),
            ("run", (A, 2), {"producer_epoch": 5}),
            ("transaction", 2, {"producer_epoch": ABSENT}),
        ),
        "a stale coordinator": (("marker", (A, 1), {"coordinator_epoch": 2}),),
        "a later coordinator": (("marker", (A, 1), {"coordinator_epoch": 4}),),
        "data of a later epoch": (("run", (A, 1), {"producer_epoch": 7}),),
        "data of an earlier epoch": (("run", (A, 2), {"producer_epoch": 0}),),
        "hidden data of a later epoch": (
            ("run", (A, 1), {"producer_epoch": 7}),
            ("summary", A, {"unreadable": (105,)}),
        ),
        "a marker again": (("later marker", (A, 4), AGAIN),),
        "a marker again, of another outcome": (("later marker", (A, 4), {**AGAIN, "outcome": ABORT}),),
        "a marker again, its transaction not complete": (
            ("transaction", LAST, PREPARED),
            ("later marker", (A, 4), {**AGAIN, "outcome": ABORT}),
        ),
        "a marker again with data": (("later marker", (A, 4), AGAIN), ("later run", (A, 4), {**OF_IT, "marker": 5})),
        "a marker again with data, its transaction not complete": (
            ("transaction", LAST, PREPARED),
            ("later marker", (A, 4), AGAIN),
            ("later run", (A, 4), {**OF_IT, "marker": 5}),
        ),
        "a marker again with data of a later epoch": (
            ("later marker", (A, 4), AGAIN),
            ("later run", (A, 4), {**OF_IT, "marker": 5, "producer_epoch": 9}),
        ),
        "a marker again with an old time": (
            ("later marker", (A, 4), AGAIN),
            ("later marker", (A, 4), {**AGAIN, "offset": 890, "timestamp": 376 * SECOND + 10_001, "producer_id": 8}),
        ),
        "a marker again with a time just in order": (
            ("later marker", (A, 4), AGAIN),
            ("later marker", (A, 4), {**AGAIN, "offset": 890, "timestamp": 376 * SECOND + 10_000, "producer_id": 8}),
        ),
        "no marker": (("no marker", (A, 1), NONE),),
        "no marker of the offsets": (("no marker", (OFFSETS, 0), NONE),),
        "no marker of the aborted offsets": (
            ("no marker", (OFFSETS, 0), NONE),
            ("transaction", 0, {"outcome": ABORT}),
            *(("marker", (n, 0), {"outcome": ABORT}) for n in (A, B)),
        ),
        "no marker at the end": (("no marker", (A, 4), NONE),),
        "no marker at the end of a prepared one": (("no marker", (A, 4), NONE), ("transaction", LAST, PREPARED)),
        "no marker at an unreadable place": _excused(("summary", A, {"unreadable": (105,)})),
        "no marker at the lost end": _cut(("summary", A, {"tail_lost": True})),
        "no marker before the lost end": _excused(("summary", A, {"tail_lost": True})),
        "no marker and no data": _excused(("run", (A, 1), OTHERS)),
        "no marker behind the begin": (
            ("no marker", (A, 0), NONE),
            ("run", (A, 0), OTHERS),
            ("summary", A, {"begin": 60}),
        ),
        "no marker and no data, cleaned": _excused(("run", (A, 1), OTHERS), ("summary", A, {"cleaned_to": 150})),
        "no marker of the offsets where a batch is gone": (
            ("no marker", (OFFSETS, 1), NONE),
            ("run", (OFFSETS, 1), OTHERS),
            ("summary", OFFSETS, {"gone": (205,)}),
        ),
        "no marker where a batch is gone": _excused(("run", (A, 1), OTHERS), ("summary", A, {"gone": (105,)})),
        "no marker where the leader changed": _excused(
            ("run", (A, 1), OTHERS), ("summary", A, {"leader_changes": (105,)})
        ),
        "no marker in an earlier copy": _cut(("summary", A, {"closed": False, "latest_ms": 0})),
        "no marker in a copy that is just later": _cut(
            ("summary", A, {"closed": False, "latest_ms": 380 * SECOND + 60_001})
        ),
        "a marker without transactions": (("identity", None, NONE), *(("no transaction", 0, NONE) for _ in range(6))),
        "a marker at no time": (("later marker", (A, 0), {**AGAIN, "offset": 620, "timestamp": 340 * SECOND}),),
        "an abort at no time": (("later marker", (A, 1), {**AGAIN, "offset": 620, "timestamp": 340 * SECOND}),),
        "a marker of a partition that is not registered": (("transaction", 4, {"partitions": frozenset({A})}),),
        "offsets that are not registered": (("transaction", 2, {"partitions": frozenset({A, B})}),),
        "an abort that is not registered": (("transaction", 1, {"partitions": frozenset({A})}),),
        "a late copy": (
            ("marker", (A, 4), {"timestamp": 365 * SECOND}),
            ("marker", (A, 4), {"producer_epoch": 3, "outcome": COMMIT}),
        ),
        "a marker after the copy of the coordinator's log": (
            ("no transaction", LAST, NONE),
            ("identity", None, {"known_until_ms": 330 * SECOND}),
        ),
        "a marker just in the copy of the coordinator's log": (
            ("no transaction", LAST, NONE),
            ("identity", None, {"known_until_ms": 375 * SECOND}),
        ),
        "a marker behind a hole": (("no transaction", 3, NONE), ("transaction", 3, {"after_hole": True})),
        "a transaction is gone": (("no transaction", 3, NONE),),
        "the first transaction is gone": (("no transaction", 0, NONE),),
        "markers change places": (
            ("marker", (A, 1), {"offset": 210}),
            ("marker", (A, 2), {"offset": 110}),
            ("run", (A, 1), {"marker": 1}),
        ),
        "data behind the last marker": (("later run", (A, 4), {**OF_IT, "marker": ABSENT}),),
        "offsets behind the last marker": (("later run", (OFFSETS, 2), {**OF_IT, "marker": ABSENT}),),
        "data behind the last marker, and the end is lost": (
            ("later run", (A, 4), {**OF_IT, "marker": ABSENT}),
            ("summary", A, {"tail_lost": True}),
        ),
        "data behind the last marker, and later records are unread": (
            ("later run", (A, 4), {**OF_IT, "marker": ABSENT}),
            ("identity", None, {"later_unread": True}),
        ),
        "data behind the last marker, after the copy": (
            ("later run", (A, 4), {**OF_IT, "marker": ABSENT}),
            ("history", None, {"known_until_ms": 361 * SECOND - 1}),
        ),
        "data behind the last marker, just in the copy": (
            ("later run", (A, 4), {**OF_IT, "marker": ABSENT}),
            ("history", None, {"known_until_ms": 361 * SECOND}),
        ),
        "data behind the last marker of one in doubt": (
            ("later run", (A, 4), {**OF_IT, "marker": ABSENT}),
            ("transaction", LAST, {**PREPARED, "doubtful": True}),
        ),
        "an open one": (
            ("transaction", LAST, OPEN),
            *(("no marker", (n, count), NONE) for n, count in ((A, 4), (B, 4), (OFFSETS, 2))),
        ),
        "an open one with a marker": (
            ("transaction", LAST, OPEN),
            *(("no marker", (n, count), NONE) for n, count in ((B, 4), (OFFSETS, 2))),
        ),
        "an epoch that is torn, without its coordinator": (
            ("history", None, {"identities": (), "transactions": (), "whole": False}),
            ("marker", (B, 0), {"outcome": ABORT}),
        ),
        "without its coordinator": (("history", None, {"identities": (), "transactions": (), "whole": False}),),
        "two epochs before a marker, without its coordinator": (
            ("history", None, {"identities": (), "transactions": (), "whole": False}),
            ("no marker", (A, 1), NONE),
        ),
        "two epochs before a marker that may hide another, without its coordinator": (
            ("history", None, {"identities": (), "transactions": (), "whole": False}),
            ("no marker", (A, 1), NONE),
            ("summary", A, {"unreadable": (150,)}),
        ),
        "a later epoch before a marker, without its coordinator": (
            ("history", None, {"identities": (), "transactions": (), "whole": False}),
            ("no marker", (A, 1), NONE),
            ("marker", (A, 1), {"producer_epoch": 2}),
        ),
        "two epochs before a marker behind a hole": _unmarked_before_hole(),
        "two epochs before a marker behind a hole, the first one's partition not registered": _unmarked_before_hole(
            ("transaction", 1, {"partitions": frozenset({B})})
        ),
        "the same, where an epoch may have several transactions": _unmarked_before_hole(
            ("transaction", 1, {"partitions": frozenset({B}), "client_version": 1})
        ),
        "only the Complete record": (
            ("transaction", 2, {"after_hole": True, "listed": False, "partitions": frozenset()}),
        ),
        "the Complete record says otherwise": (
            ("transaction", 2, {"after_hole": True, "listed": False, "partitions": frozenset(), "outcome": ABORT}),
        ),
        "the Complete record says otherwise, of a marker at another time": (
            ("transaction", 2, {"after_hole": True, "listed": False, "partitions": frozenset()}),
            ("marker", (A, 2), {"timestamp": 600 * SECOND, "outcome": ABORT}),
        ),
        "the Complete record says so, of a marker at another time": (
            ("transaction", 2, {"after_hole": True, "listed": False, "partitions": frozenset()}),
            ("marker", (A, 2), {"timestamp": 600 * SECOND}),
        ),
        "clocks that are apart": tuple(
            ("marker", (n, 1), {"timestamp": 60 * SECOND * 2 + 30 * SECOND}) for n in (A, B)
        ),
        "a marker where the coordinator's clock is behind by less than a minute": (
            ("no transaction", 3, NONE),
            ("transaction", 3, {"after_hole": True}),
            ("marker", (B, 2), {"timestamp": 250 * SECOND}),
        ),
        "hidden, of no transaction": (
            ("no transaction", 0, NONE),
            ("summary", A, {"unreadable": (5,)}),
            ("summary", B, {"cleaned_to": 5}),
        ),
        "of a transaction before the log begins": (
            ("no transaction", 0, NONE),
            ("identity", None, {"whole": False}),
            ("transaction", 0, {"after_hole": True}),
        ),
        "an open one past its timeout": (
            ("transaction", LAST, OPEN),
            *(("no marker", (n, count), NONE) for n, count in ((A, 4), (B, 4), (OFFSETS, 2))),
            ("coordinator", None, {"latest_ms": 430 * SECOND + 1}),
        ),
        "an open one just before its timeout": (
            ("transaction", LAST, OPEN),
            *(("no marker", (n, count), NONE) for n, count in ((A, 4), (B, 4), (OFFSETS, 2))),
            ("coordinator", None, {"latest_ms": 430 * SECOND}),
        ),
        "a prepared one that does not complete": (
            ("transaction", LAST, PREPARED),
            ("coordinator", None, {"latest_ms": 430 * SECOND + 1}),
        ),
        "a prepared one that may still complete": (
            ("transaction", LAST, PREPARED),
            ("coordinator", None, {"latest_ms": 430 * SECOND}),
        ),
        "data without a marker for longer than any timeout": (
            ("history", None, {"identities": (), "transactions": (), "whole": False}),
            ("later run", (A, 4), {**OF_IT, "marker": ABSENT}),
            ("summary", A, {"latest_ms": 1_285 * SECOND + 1}),
        ),
        "data without a marker for just as long": (
            ("history", None, {"identities": (), "transactions": (), "whole": False}),
            ("later run", (A, 4), {**OF_IT, "marker": ABSENT}),
            ("summary", A, {"latest_ms": 1_285 * SECOND}),
        ),
        "just prepared": (("marker", (A, 1), {"timestamp": 130 * SECOND}),),
        "just complete": (("marker", (A, 1), {"timestamp": 140 * SECOND}),),
    }
)
"""What is changed of the sound evidence, by the name of the case."""


def joined_places() -> Iterator[JudgedCall]:
    """Each case under each transaction version."""
    for version in (2, 0):
        for name in CASES:
            yield JudgedCall(f"join, version {version}: {name}", JoinedCase(name, version))


class JoinedCase:
    """A case, and what the audit's join says of it without a mutant."""

    def __init__(self, name: str, version: int) -> None:
        """The evidence is made when it is first joined."""
        self.name, self.version = name, version
        self._true: frozenset[tuple[object, ...]] | None = None

    def evidence(self) -> list[AuditedTransactionLog]:
        """The logs of the case."""
        evidence = sound(self.version)
        for step in CASES[self.name]:
            change(step, evidence)
        return evidence.logs()

    def reported(self) -> frozenset[tuple[object, ...]]:
        """Rule, severity and place of each finding; and of each transaction what is missing to judge it."""
        report, found = audit_transactions(self.evidence())
        findings = {
            (one.rule.id, str(one.severity), log, one.offset, one.producer_epoch)
            for log, own in enumerate(found)
            for one in own
        }
        missing = {
            (rules.TXN_MARKER_ONCE.id, one.one.known.first_offset, *one.missing) for one in report.judged if one.missing
        }
        return frozenset(findings | missing)

    def __call__(self) -> tuple[str, ...]:
        """The rules that are named where they hold, or no longer named where they do not."""
        reported = self.reported()
        if self._true is None:
            self._true = reported
        return tuple(sorted({str(rule) for rule, *_ in reported ^ self._true}))
