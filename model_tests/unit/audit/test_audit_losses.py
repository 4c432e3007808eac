from dataclasses import replace

import numpy as np
import pytest

from model_tests.audit.controller_log_history import LeaderEpochEntry
from model_tests.audit.history_judge import TalliedLog, judge_history
from model_tests.audit.history_log import AttemptTally
from model_tests.audit.losses import Led, Loss, losses_of, lost_acknowledgements, shown_by_clients
from model_tests.audit.replica import ReplicaSummary
from model_tests.audit.transactions_join import Gap, JoinedTransaction, LogIndex
from model_tests.audit.transactions_judge import judge_transaction
from model_tests.audit.transactions_summary import AuditedMarker, PartitionTransactions
from model_tests.histories.as_journal import Acknowledged, ClientJournal, JournalTransaction, ReportedEnd
from model_tests.histories.severity import Severity
from model_tests.unit.support.judged_transactions import KNOWN, RUN, WHOLE
from spec.judging.judge_clients import RecordFate
from spec.vocabulary import ABSENT

LOSS = Loss(15, 5, "the unclean election of broker 1", elected=1, epoch_end=20)
"""Broker 1 continues at offset 15."""
THIRD = LeaderEpochEntry(4, 3, 100, 5)
FIRST = LeaderEpochEntry(5, 1, 200, 40, unclean=True)
LATER_MARKER = AuditedMarker(9, 0, 14, 1, 0, 4, 31)


def without_marker(
    loss: Loss, leaders: tuple[LeaderEpochEntry, ...], summary: PartitionTransactions
) -> tuple[Severity, str]:
    """What is found of a transaction, prepared at 20 and complete at 30, with data from offset 12 on and no marker."""
    place = LogIndex(0, "a", 0, summary, led=Led(leaders, (loss,)))
    gap = Gap(place, after=10, before=20, first=False, last=True, runs=(RUN,))
    ((_, finding),) = judge_transaction(JoinedTransaction(KNOWN, gaps=[gap])).findings
    assert finding.rule.id == "txn.marker_once"
    return finding.severity, finding.message


def test_a_marker_that_an_election_took_is_known_with_who_had_it_and_where_it_was() -> None:
    """Broker 3 led when the transaction ended; broker 1, not in sync with it, was elected later, with a shorter log."""
    severity, message = without_marker(LOSS, (THIRD, FIRST), WHOLE)

    assert severity is Severity.KNOWN
    assert "broker 3 led in leader epoch 4 when the transaction ended" in message
    assert "broker 1, not in sync, continues at offset 15" in message


@pytest.mark.parametrize(
    ("loss", "leaders", "summary"),
    [
        (LOSS, (THIRD, replace(FIRST, timestamp=19)), WHOLE),
        (LOSS, (replace(THIRD, leader=ABSENT), FIRST), WHOLE),
        (LOSS, (replace(THIRD, leader=1), FIRST), WHOLE),
        (replace(LOSS, offset=12), (THIRD, FIRST), WHOLE),
        (replace(LOSS, offset=21), (THIRD, FIRST), WHOLE),
        (LOSS, (THIRD, FIRST), replace(WHOLE, gone=(14,))),
        (LOSS, (THIRD, FIRST), replace(WHOLE, markers=(LATER_MARKER,))),
        (replace(LOSS, again=True), (THIRD, FIRST), WHOLE),
    ],
    ids=[
        "decided after the election",
        "no leader",
        "the elected one had led",
        "the data is gone, too",
        "elsewhere in the log",
        "batches are gone",
        "the log continues past its end",
        "the last leader",
    ],
)
def test_an_election_that_cannot_have_taken_the_marker_excuses_nothing(
    loss: Loss, leaders: tuple[LeaderEpochEntry, ...], summary: PartitionTransactions
) -> None:
    """At another time, from another place, or of a marker that was never there: it is missing."""
    severity, message = without_marker(loss, leaders, summary)

    assert severity is Severity.VIOLATION
    assert "unclean election" not in message


def test_the_last_leader_lost_a_marker_only_where_more_is_shown_to_be_lost() -> None:
    """Its broker is shown to lack offsets that it had."""
    loss = replace(LOSS, again=True, until=18, evidence="3 acknowledgements")

    severity, message = without_marker(loss, (replace(THIRD, leader=1), FIRST), WHOLE)

    assert severity is Severity.KNOWN
    assert "records are lost at offsets 15 to 17, by 3 acknowledgements" in message


@pytest.mark.parametrize(
    ("loss", "leaders"),
    [
        (replace(LOSS, epoch=6), (THIRD, LeaderEpochEntry(5, ABSENT, 150, 15), replace(FIRST, epoch=6))),
        (replace(LOSS, epoch=6), (THIRD, LeaderEpochEntry(5, ABSENT, 150, 25), replace(FIRST, epoch=6))),
        (replace(LOSS, offset=21), (THIRD, LeaderEpochEntry(5, ABSENT, 150, 21), LeaderEpochEntry(6, 3, 160, 29))),
    ],
    ids=["all the time", "in the end", "in between"],
)
def test_a_transaction_that_was_completed_without_a_leader_is_reported_so(
    loss: Loss, leaders: tuple[LeaderEpochEntry, ...]
) -> None:
    """In which leader epoch, and what takes such a partition for deleted; no later election excuses it."""
    severity, message = without_marker(loss, leaders, WHOLE)

    assert severity is Severity.VIOLATION
    assert "a-0 had no leader in leader epoch 5 (offset 150 of the controller's log)" in message
    assert "KAFKA-20734" in message


def acknowledged(*pairs: tuple[int, int]) -> Acknowledged:
    """Acknowledgements, each with its offset and the number of its attempt, in the order in which they were given."""
    rows = sorted((offset, attempt, order) for order, (offset, attempt) in enumerate(pairs))
    return Acknowledged(*np.array(rows, np.int64).T)


USED_AGAIN = acknowledged((13, 0), (14, 0), (15, 0), (17, 1), (15, 2), (16, 2), (17, 2), (18, 3))
"""Offsets 15 and 17 are acknowledged, and after the election 15 to 18."""


@pytest.mark.parametrize(
    ("loss", "acks", "log_end", "lost"),
    [
        (LOSS, USED_AGAIN, 30, [(15, 0), (17, 1)]),
        (LOSS, acknowledged((13, 0), (15, 0), (17, 1), (18, 3)), 30, []),
        (LOSS, acknowledged((13, 0), (15, 0), (17, 1)), 15, [(15, 0), (17, 1)]),
        (replace(LOSS, epoch_end=15), USED_AGAIN, 30, []),
        (replace(LOSS, offset=19, epoch_end=25), USED_AGAIN, 30, []),
    ],
    ids=["used again", "not shown", "the log ends there", "by a later leader", "elsewhere"],
)
def test_what_clients_were_reported_shows_what_an_election_lost(
    loss: Loss, acks: Acknowledged, log_end: int, lost: list[tuple[int, int]]
) -> None:
    """What was acknowledged before the elected leader's first record at an offset that had been given away."""
    flags = lost_acknowledgements(loss, acks, log_end)

    assert list(zip(acks.offsets[flags].tolist(), acks.attempts[flags].tolist(), strict=True)) == lost
    (shown,) = shown_by_clients([loss], acks, log_end)
    assert (shown.is_shown, shown.until) == ((True, 18) if lost else (False, ABSENT))


ATTEMPTS = tuple(
    JournalTransaction(f"p{number}", f"t{number}", 1, number, ReportedEnd.COMMITTED) for number in range(4)
)


@pytest.mark.parametrize(
    ("acks", "attempt", "severity"),
    [
        (USED_AGAIN, 1, Severity.KNOWN),
        (USED_AGAIN, 3, Severity.VIOLATION),
        (acknowledged((13, 1), (15, 1), (17, 1), (18, 3)), 1, Severity.VIOLATION),
    ],
    ids=["lost by the election", "acknowledged after it", "nothing shows it"],
)
def test_a_lost_record_is_known_only_where_the_election_is_shown_to_have_lost_it(
    acks: Acknowledged, attempt: int, severity: Severity
) -> None:
    """An election before it in the log is not enough."""
    own = acks.offsets[acks.attempts == attempt]
    tally = AttemptTally(attempt, RecordFate.LOST, ABSENT, int(own.max()), int(own.max()), 1)
    log = TalliedLog(0, "a-0", "a", 0, (tally,), (LOSS,), 30)

    _, found = judge_history(ClientJournal(ATTEMPTS, {("a", 0): acks}), [log], {}, set())

    ours = [finding for _, finding in found if finding.rule.id == "txn.client_verdict"]
    assert [finding.severity for finding in ours] == [severity]
    assert ("lost records" in ours[0].message) is (severity is Severity.KNOWN)


def test_offsets_that_an_election_gave_twice_are_reported_apart_from_others() -> None:
    """One finding for those that it explains, another for those that nothing does."""
    acks = acknowledged((10, 0), (10, 1), (15, 0), (17, 1), (15, 2), (17, 2))
    log = TalliedLog(0, "a-0", "a", 0, (), (LOSS,), 30)

    _, found = judge_history(ClientJournal(ATTEMPTS, {("a", 0): acks}), [log], {}, set())

    assert [(one.severity, one.offset) for _, one in found] == [(Severity.KNOWN, 15), (Severity.VIOLATION, 10)]
    assert "and so 1 more offsets" in found[0][1].message


OWN = ReplicaSummary(0, 0, 30, epochs=((4, 0, 9), (5, 15, 3), (6, 20, 5)))


@pytest.mark.parametrize(
    ("epochs", "log_end", "until"),
    [
        (((4, 0, 12),), 19, 19),
        (((4, 0, 12), (6, 22, 3)), 30, 22),
        (((4, 0, 9), (5, 15, 3)), 20, ABSENT),
        (((4, 0, 9),), 15, ABSENT),
    ],
    ids=["not cut yet", "never cut", "cut", "as long"],
)
def test_another_replica_shows_what_an_election_lost(
    epochs: tuple[tuple[int, int, int], ...], log_end: int, until: int
) -> None:
    """What it still has in an earlier leader epoch, where the elected one continues."""
    copy = ReplicaSummary(0, 0, log_end, epochs=epochs)

    (loss,) = losses_of([FIRST], OWN, [("broker 3", copy)], behind=False)

    assert (loss.offset, loss.epoch_end, loss.until) == (15, 20, until)
    assert loss.is_shown is (until != ABSENT)
    assert ("broker 3, which still has them in leader epoch 4" in loss.reported()) is loss.is_shown


def test_who_led_when() -> None:
    """A leader epoch lasts up to the next one; the last one lasts."""
    led = Led((THIRD, FIRST), knows=5)

    assert [one.epoch for one in led.during(20, 30)] == [4]
    assert [one.epoch for one in led.during(20, 40)] == [4, 5]
    assert [one.epoch for one in led.during(90, 99)] == [5]
    assert [led.at(time) for time in (4, 5, 39, 40)] == [None, THIRD, THIRD, FIRST]
    assert led.known_ms == 40
    assert Led((THIRD,), knows=5).known_ms == ABSENT
