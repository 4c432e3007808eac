"""Transactions that have not ended, by the time until which the logs go on: whether each should have ended by then.

No record says that a coordinator or a partition was there in between. So what is overdue is no proof that a rule is
broken: it is what an operator has to look at.
"""

from typing import Final

from spec import rules
from spec.algebra import Term, all_of, choose
from spec.judging.judge import RuleCheck
from spec.protocol.completing import is_timed_out
from spec.protocol.coordinator import TransactionEntry, is_preparing
from spec.protocol.ids import LARGEST_TIMEOUT

REAPER_INTERVAL: Final = 10_000
"""Milliseconds between two searches of a coordinator for transactions past their timeout.

Default of `transaction.abort.timed.out.transaction.cleanup.interval.ms`, in every release.
"""

MARKERS_TAKE: Final = 60_000
"""Milliseconds after which an operator asks why markers are not written.

A coordinator sends them at once, and again until every partition has its own. Without a leader a partition has none.
"""


def judge_ongoing(entry: TransactionEntry, until: Term) -> RuleCheck:
    """A transaction that is open by its newest record: a log that goes on past its timeout should have its abort.

    Args:
        entry: by the newest record of its id.
        until: the newest time of the log, in milliseconds by its coordinator's clock.
    """
    late = is_timed_out(entry, until - REAPER_INTERVAL)
    return RuleCheck(rules.TXN_TIMEOUT, entry.known, choose(late, False, True))


def judge_prepared(entry: TransactionEntry, until: Term) -> RuleCheck:
    """A transaction whose outcome is decided: a log that goes on should have its Complete record.

    Args:
        entry: by the newest record of its id.
        until: as above.
    """
    late = all_of(is_preparing(entry), entry.update_time + MARKERS_TAKE < until)
    return RuleCheck(rules.TXN_COMPLETES, entry.known, choose(late, False, True))


def judge_data(since: Term, until: Term) -> RuleCheck:
    """Data without a marker, of a transaction of which nothing else is known: no timeout is that long.

    Args:
        since: the time of its first record, in milliseconds.
        until: the newest time of the partition.
    """
    late = since + LARGEST_TIMEOUT + REAPER_INTERVAL < until
    return RuleCheck(rules.TXN_TIMEOUT, True, choose(late, False, True))
