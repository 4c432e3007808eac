"""What a step is linked to: the steps before it on its keys, kept while a trace is made."""

from collections import defaultdict
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

from model_tests.monitor.judges import identity_judge
from model_tests.traces import links, log_links
from model_tests.traces.coordinator_links import AT_NODE, IDENTITY
from model_tests.traces.schema import Row, complete
from spec.vocabulary import ABSENT

NOTHING: Final[Row] = complete({})
"""The step before the first."""

_key_of: Final = itemgetter(*links.KEY)
_log_of: Final = itemgetter(*log_links.KEY)
_id_of: Final = itemgetter(*AT_NODE)
_identity_of: Final = itemgetter(*IDENTITY)


class Linked(NamedTuple):
    """What a judge of links takes, in the order of its arguments."""

    row: Row
    previous: Row
    accepted: Row
    chain: Mapping[str, Any]


class _Chain:
    """The steps on one key: how many were faults, the last one, and the last that was an accepted batch of data."""

    __slots__ = ("accepted", "accepted_faults", "faults", "previous", "previous_faults")

    def __init__(self) -> None:
        self.faults = 0
        self.previous, self.previous_faults = NOTHING, ABSENT
        self.accepted, self.accepted_faults = NOTHING, ABSENT

    def add(self, row: Row) -> Linked:
        """The step with what came before it, which it joins."""
        is_fault = row["origin"] < 0
        self.faults += is_fault
        told = {
            "faults": self.faults,
            "previous_faults": self.previous_faults,
            "accepted_faults": self.accepted_faults,
        }
        step = Linked(row, self.previous, self.accepted, told)
        self.previous, self.previous_faults = row, self.faults
        if row["appended"] and not row["control"] and not is_fault:
            self.accepted, self.accepted_faults = row, self.faults
        return step


class Chains:
    """What was seen of one trace."""

    def __init__(self) -> None:
        """Nothing was seen."""
        self._of_producers: defaultdict[object, _Chain] = defaultdict(_Chain)
        self._of_logs: dict[object, Row] = {}
        self._of_ids: dict[object, Row] = {}
        self._handed_out: set[object] = set()

    def of_producer(self, row: Row) -> Linked | None:
        """A step on a producer and partition with those before it; none where it touches no such key."""
        if row["producer_id"] < 0 or not row["topic"] or row["after_log_end"] < 0:
            return None
        return self._of_producers[_key_of(row)].add(row)

    def of_log(self, row: Row) -> Linked | None:
        """A step at the log of a replica with the one before it there; none where it touches no log."""
        if not row["topic"] or row["after_log_end"] < 0:
            return None
        key = _log_of(row)
        previous = self._of_logs.get(key)
        self._of_logs[key] = row
        return Linked(row, previous or NOTHING, NOTHING, {"has_previous": previous is not None})

    def of_id(self, row: Row) -> Linked | None:
        """A step of a transactional id with the one before it at its node; none where it is of no id, or at no node."""
        if not row["transactional_id"] or not row["node"] or row["origin"] >= 0:
            return None
        key, identity = _id_of(row), _identity_of(row)
        previous = self._of_ids.get(key)
        told = {"has_previous": previous is not None, "handed_out_before": identity in self._handed_out}
        self._of_ids[key] = row
        if identity_judge()(row)[0]:
            self._handed_out.add(identity)
        return Linked(row, previous or NOTHING, NOTHING, told)
