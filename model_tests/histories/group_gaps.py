"""What a group passed over: records before its committed position that no operation of it that succeeded was given."""

from dataclasses import dataclass

import numpy as np

from model_tests.histories.anomalies import broken
from model_tests.histories.log_order import LogOrder, extremes
from model_tests.histories.operations import Facts, Integers, OperationResult
from spec.judging.judge_clients import GroupPlace, ReaderAssignment, is_passed_over, judge_passed_over


@dataclass(frozen=True, slots=True)
class GroupGaps:
    """Runs of neighbouring places that a group passed over, and of which an aborted operation of it was given some.

    Attributes:
        first: of each run the first place; `last`, the last one.
        severity: of each run, as a number of `SEVERITIES`.
        inside: of each place: it is in a run.
        judged: records that operations with outputs consumed for a group.
    """

    first: Integers
    last: Integers
    severity: Integers
    inside: Facts
    judged: int


def members(order: LogOrder) -> Facts:
    """Operations of processes that read for a group; a history has one group."""
    member: Facts = np.isin(order.history.via, (ReaderAssignment.SUBSCRIBE.value, ReaderAssignment.TRACKED.value))
    return member


def consumed(order: LogOrder) -> Facts:
    """Given records of transactions that read for a group and have outputs."""
    sends = np.zeros(len(order.history), np.bool_)
    sends[order.sent.reported.operation] = True
    consumes = members(order) & order.history.atomic & sends
    found: Facts = consumes[order.given.reported.operation]
    return found


def group_gaps(order: LogOrder) -> GroupGaps:
    """The runs that a group passed over after an abort."""
    given, places = order.given, len(order.key)
    outcome = order.outcome_of(given.reported)
    here = members(order)[given.reported.operation] & (given.place >= 0)
    taken, aborted = np.zeros(places, np.bool_), np.zeros(places, np.bool_)
    succeeded = here & (outcome == OperationResult.OK.value)
    failed = here & consumed(order) & (outcome == OperationResult.FAIL.value)
    taken[given.place[succeeded]] = True
    aborted[given.place[failed]] = True
    keys = len(order.history.keys)
    _, bound = extremes(given.reported.key[succeeded], given.place[succeeded], keys)
    begun, _ = extremes(given.reported.key[succeeded | failed], given.place[succeeded | failed], keys)
    place = np.arange(places)
    judged = GroupPlace(place >= begun[order.key], taken, place < bound[order.key])
    passed = np.asarray(is_passed_over(judged), np.bool_)
    starts = passed & np.concatenate([[True], ~passed[:-1] | (order.key[1:] != order.key[:-1])])[:places]
    run = np.cumsum(starts) - 1
    of_aborted = np.zeros(1 + int(run.max(initial=-1)), np.bool_)
    of_aborted[run[passed & aborted]] = True
    chosen, severity = broken(judge_passed_over(of_aborted, order.history.whole), len(of_aborted))
    inside = passed & np.isin(run, chosen)
    rows = np.flatnonzero(inside)
    first, last = extremes(run[rows], rows, len(of_aborted))
    return GroupGaps(first[chosen], last[chosen], severity, inside, int(consumed(order).sum()))
