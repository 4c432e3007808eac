"""Selects the batches of a log that may still change a verdict when other parts of the log come before or after it.

A batch is settled once the decision was applied to it with all that it can depend on: the batch of its producer
before it, the last five of data, the last marker. Whether a transaction was open where a log begins only the first
batches of a producer can depend on, and these are not settled. What is found of a settled batch is not explained
here: its producer is in doubt, and every batch of it must be looked at.
"""

from dataclasses import replace

import numpy as np

from model_tests.audit.decision import LinkDecisions, decide
from model_tests.audit.holes import begins_segment
from model_tests.audit.links import LinkPositions, Links, count_before, latest_before, link
from model_tests.audit.partial_log import Condensed, Stakes, Wanted
from model_tests.audit.pieces import ends_of, is_marker, merged, stacked, taken
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from spec.protocol.records import WINDOW
from spec.vocabulary import ABSENT


def condense(log: Condensed, wanted: Wanted) -> Condensed:
    """The least that gives the same verdict on the log, whatever comes before it and after it."""
    if not len(log.rows):
        return log
    links = link(log.rows, replace(wanted.around, first_base=0), wanted.profile)
    context = _Context(links, wanted)
    agreed, settled = context.known(log)
    decisions = decide(links, wanted.profile, wanted.without)
    newly = settled & ~log.marks.settled[links.row]
    doubted = log.doubted | _doubted(links, decisions, newly, agreed & ~log.marks.agreed[links.row])
    doubtful = _among(links.batches.producer_id, doubted)
    rows = np.flatnonzero(_kept(log, links, wanted, context.needed(settled) & ~doubtful))
    ends = ends_of(log.rows)
    marks = replace(log.marks, agreed=log.marks.agreed.copy(), settled=log.marks.settled.copy())
    marks.agreed[links.row], marks.settled[links.row] = agreed | doubtful, settled | doubtful
    return replace(
        log,
        rows=log.rows.take(rows),
        marks=taken(marks, rows),
        ends=ends,
        pieces=merged(log.pieces, ends, wanted.around),
        stakes=_stakes(log.stakes, links, decisions, newly, doubted),
        doubted=doubted,
    )


class _Context:
    """What each batch can depend on, and how much of it the log has."""

    def __init__(self, links: Links, wanted: Wanted) -> None:
        own = links.batches
        self.links, self.at = links, LinkPositions(own)
        self.data = ~own.control
        self.numbers, self.before = np.flatnonzero(self.data), count_before(self.data)
        self.in_run = self.before - self.before[self.at.run_start]
        self.after_marker = latest_before(own.control, self.at.group_start) >= 0
        self.whole = _among(own.producer_id, wanted.whole)
        last = np.ones(len(own), np.bool_)
        section = np.searchsorted(wanted.edges, own.base_offset, side="right")
        last[:-1] = self.at.first[1:] | (section[1:] != section[:-1])
        self.last = last

    def known(self, log: Condensed) -> tuple[Facts, Facts]:
        """Of which batches the state before is known as far as the next one needs it, and which are settled."""
        window = (self.in_run >= WINDOW) | (self.at.run_start > self.at.group_start)
        after_known = np.zeros(len(window), np.bool_)
        after_known[1:] = window[:-1]
        after_known &= ~self.at.first & ~self.whole
        agreed = log.marks.agreed[self.links.row] | after_known
        settled = log.marks.settled[self.links.row] | (after_known & (self.data | self.after_marker))
        return agreed, settled

    def needed(self, settled: Facts) -> Facts:
        """What is not settled and what is last, each with the batches that its state comes from."""
        chosen = ~settled | self.last | self.whole
        needed = chosen.copy()
        places = np.flatnonzero(chosen)
        for age in range(WINDOW):
            there = places[self.in_run[places] > age]
            needed[self.numbers[self.before[there] - 1 - age]] = True
        return needed


def _among(producers: Integers, these: frozenset[int]) -> Facts:
    among: Facts = np.isin(producers, list(these)) if these else np.zeros(len(producers), np.bool_)
    return among


def _doubted(links: Links, decisions: LinkDecisions, settled: Facts, agreed: Facts) -> frozenset[int]:
    doubtful = (settled & (decisions.refused | decisions.unusual)) | (agreed & decisions.guessed)
    return frozenset(links.batches.producer_id[doubtful].tolist()) if doubtful.any() else frozenset()


def _kept(log: Condensed, links: Links, wanted: Wanted, needed: Facts) -> Facts:
    """Which batches are kept: for their producers, for transactions, for places, and the log's first and last."""
    rows = log.rows
    kept = (rows.control & (rows.producer_id >= 0)) | rows.follows_damage
    kept[links.row[needed]] = True
    kept[_begins(rows)] = True
    kept[[0, -1]] = True
    kept[1:] |= rows.leader_epoch[1:] != rows.leader_epoch[:-1]
    kept |= _unexplained(log, wanted)
    for fact in (_grows(log.marks.cleaned), _grows(log.marks.active), rows.cleaned):
        kept[np.flatnonzero(fact)[-1:]] = True
    first = np.searchsorted(rows.base_offset, wanted.edges)
    kept[first[first < len(rows)]] = True
    if len(wanted.places):
        around = [np.searchsorted(rows.base_offset, wanted.places), np.searchsorted(rows.last_offset, wanted.places)]
        near = (np.concatenate(around)[:, None] + np.array([-1, 0, 1])).ravel()
        kept[near[(near >= 0) & (near < len(rows))]] = True
    return kept


def _begins(rows: Batches) -> Integers:
    """Places of the first data of each transaction."""
    joins = (rows.producer_id >= 0) & rows.transactional & ~rows.control
    if not joins.any():
        return np.empty(0, np.int64)
    members = np.flatnonzero(joins | is_marker(rows))
    members = members[np.argsort(rows.producer_id[members], kind="stable")]
    data = joins[members]
    begins = data.copy()
    begins[1:] &= ~data[:-1] | (rows.producer_id[members[1:]] != rows.producer_id[members[:-1]])
    return members[begins]


def _unexplained(log: Condensed, wanted: Wanted) -> Facts:
    """Holes that neither the cleaner nor damage may come to explain; all of them where it was never here.

    Those between two segments also where nothing shows whether the cleaner ran; each with what is before it, to know
    which offsets are missing.
    """
    grows = _grows(log.marks.active)
    if wanted.around.cleaned_to == ABSENT:
        between = log.marks.hole & begins_segment(log.rows)
        grows |= log.marks.hole if wanted.around.cleaner_known else between
        grows[:-1] |= between[1:]
    return grows


def _grows(counts: Integers) -> Facts:
    """Where a count is more than at the kept batch before; of the first nothing is said."""
    grows = np.zeros(len(counts), np.bool_)
    grows[1:] = counts[1:] > counts[:-1]
    return grows


def _stakes(known: Stakes, links: Links, decisions: LinkDecisions, newly: Facts, doubted: frozenset[int]) -> Stakes:
    """Settled batches counted with those that were before; without the producers in doubt."""
    starts = np.flatnonzero(links.first)
    added = known
    if len(starts):
        counts = [np.add.reduceat(fact & newly, starts, dtype=np.int64) for fact in decisions.at_stake.values()]
        added = stacked([known, Stakes(links.batches.producer_id[starts], np.stack(counts, axis=1))])
    producers, row = np.unique(added.producer_id, return_inverse=True)
    summed = np.zeros((len(producers), added.counts.shape[1]), np.int64)
    np.add.at(summed, row, added.counts)
    sound = ~_among(producers, doubted)
    return Stakes(producers[sound], summed[sound])
