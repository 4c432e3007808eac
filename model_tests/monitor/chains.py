"""The links of a step: the steps before it on its keys, kept while a trace is made."""

from collections import defaultdict
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

from model_tests.judging import follower_links, links, log_links, place_links
from model_tests.judging.coordinator_links import (
    AT_NODE,
    BY_ID,
    COMPLETING_LINK,
    IDENTITY,
    NEW_ID_LINK,
    OPEN_LINK,
    is_change_of_id,
    is_completing,
)
from model_tests.judging.follower_links import FOLLOWER_LINK
from model_tests.judging.judges import identity_judge, new_id_judge
from model_tests.judging.log_links import LOG_LINK
from model_tests.judging.place_links import PLACE_LINK
from model_tests.traces.schema import Row, complete
from spec.vocabulary import ABSENT

NOTHING: Final[Row] = complete({})
"""The step before the first."""

_key_of: Final = itemgetter(*links.KEY)
_log_of: Final = itemgetter(*log_links.KEY)
_follower_of: Final = itemgetter(*follower_links.KEY)
_place_of: Final = itemgetter(*place_links.KEY)
_id_of: Final = itemgetter(*AT_NODE)
_identity_of: Final = itemgetter(*IDENTITY)
_open_of: Final = itemgetter(*BY_ID)


class LinkArguments(NamedTuple):
    """What a judge of links takes, in the order of its arguments."""

    row: Row
    previous: Row
    accepted: Row
    chain: Mapping[str, Any]


class _Chain:
    """The steps on one key: how many were breaks, the last one, and the last that was an accepted batch of data."""

    __slots__ = ("accepted", "accepted_faults", "faults", "previous", "previous_faults")

    def __init__(self) -> None:
        self.faults = 0
        self.previous, self.previous_faults = NOTHING, ABSENT
        self.accepted, self.accepted_faults = NOTHING, ABSENT

    def add(self, row: Row) -> LinkArguments:
        """The step with what came before it, which it joins."""
        self.faults += links.is_break(row)
        reported = {
            "faults": self.faults,
            "previous_faults": self.previous_faults,
            "accepted_faults": self.accepted_faults,
        }
        step = LinkArguments(row, self.previous, self.accepted, reported)
        self.previous, self.previous_faults = row, self.faults
        if row["appended"] and not row["control"] and row["origin"] >= 0:
            self.accepted, self.accepted_faults = row, self.faults
        return step


class Chains:
    """What was seen of one trace."""

    def __init__(self) -> None:
        """Nothing was seen."""
        self._of_producers: defaultdict[object, _Chain] = defaultdict(_Chain)
        self._latest: dict[tuple[str, object], Row] = {}
        self._of_ids: dict[object, Row] = {}
        self._handed_out: set[object] = set()

    def of_producer(self, row: Row) -> LinkArguments | None:
        """A step on a producer and partition with those before it; none where it touches no such key."""
        if row["producer_id"] < 0 or not row["topic"] or row["after_log_end"] < 0:
            return None
        return self._of_producers[_key_of(row)].add(row)

    def of_log(self, row: Row) -> LinkArguments | None:
        """A step at the log of a replica with the one before it there; none where it touches no log."""
        if not log_links.is_on_log(row):
            return None
        return self._after_previous(row, LOG_LINK, _log_of(row))

    def of_follower(self, row: Row) -> LinkArguments | None:
        """A step about a follower with the one before it at that leader; none where it says nothing of one."""
        if not follower_links.is_on_follower(row):
            return None
        return self._after_previous(row, FOLLOWER_LINK, _follower_of(row))

    def of_place(self, row: Row) -> LinkArguments | None:
        """A batch with the one that was seen before at its place in the log; none where it is no batch."""
        if not place_links.is_on_place(row):
            return None
        return self._after_previous(row, PLACE_LINK, _place_of(row))

    def _after_previous(self, row: Row, kind: str, key: object) -> LinkArguments:
        previous = self._latest.get((kind, key))
        self._latest[kind, key] = row
        return LinkArguments(row, previous or NOTHING, NOTHING, {"has_previous": previous is not None})

    def forget_places(self) -> None:
        """Let go of the batches that were seen at places in logs; copies that come later are compared with nothing."""
        self._latest = {key: row for key, row in self._latest.items() if key[0] != PLACE_LINK}

    def of_id(self, row: Row) -> LinkArguments | None:
        """A step of a transactional id with the one before it at its node; none where it is of no id, or at no node."""
        if not row["transactional_id"] or not row["node"] or row["origin"] >= 0:
            return None
        key, identity = _id_of(row), _identity_of(row)
        previous = self._of_ids.get(key)
        reported = {"has_previous": previous is not None, "handed_out_before": identity in self._handed_out}
        self._of_ids[key] = row
        if identity_judge()(row)[0]:
            self._handed_out.add(identity)
        return LinkArguments(row, previous or NOTHING, NOTHING, reported)

    def of_new_id(self, row: Row) -> LinkArguments | None:
        """A step that draws a producer id with the one before it that drew the same; none of others."""
        if row["reply_producer_id"] < 0 and row["after_txn_next_producer_id"] < 0:
            return None
        draws, drawn = new_id_judge()(row)
        if not draws:
            return None
        step = self._after_previous(row, NEW_ID_LINK, (row["trace"], drawn))
        return step._replace(chain={"handed_out_before": step.chain["has_previous"]})

    def of_completing(self, row: Row) -> LinkArguments | None:
        """A step that begins to complete a transaction, or completes one, with the one that began; none of others."""
        begins, completes = is_completing(row)
        if not begins and not completes:
            return None
        key = COMPLETING_LINK, _id_of(row)
        previous = self._latest.pop(key, None)
        if begins:
            self._latest[key] = row
        return LinkArguments(row, previous or NOTHING, NOTHING, {"has_previous": previous is not None})

    def of_open(self, row: Row) -> LinkArguments | None:
        """A step that changes what is known of an id with the one before it, at whichever node; none of others."""
        if not is_change_of_id(row):
            return None
        return self._after_previous(row, OPEN_LINK, _open_of(row))
