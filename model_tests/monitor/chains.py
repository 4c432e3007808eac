"""The links of a step: the steps before it on its keys, kept while a trace is made."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

from model_tests.judging import links
from model_tests.judging.chains import LATEST, OnChain, chains_of
from model_tests.judging.coordinator_links import AT_NODE, ID_LINK, IDENTITY
from model_tests.judging.judges import identity_judge
from model_tests.judging.place_links import PLACE_LINK
from model_tests.judging.verdicts import LINK
from model_tests.traces.schema import Row, complete
from spec.vocabulary import ABSENT

NOTHING: Final[Row] = complete({})
"""The step before the first."""

_key_of: Final = itemgetter(*links.KEY)
_id_of: Final = itemgetter(*AT_NODE)
_identity_of: Final = itemgetter(*IDENTITY)


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
        self._marks: dict[tuple[str, object], int] = {}
        self._of_ids: dict[object, Row] = {}
        self._handed_out: set[object] = set()

    def of_producer(self, row: Row) -> LinkArguments | None:
        """A step on a producer and partition with those before it; none where it touches no such key."""
        if row["producer_id"] < 0 or not row["topic"] or row["after_log_end"] < 0:
            return None
        return self._of_producers[_key_of(row)].add(row)

    def _of(self, kind: str, row: Row, member: OnChain) -> LinkArguments:
        """A step on the chain of a kind, with the one before it there."""
        at = kind, member.key
        previous, latest = self._latest.pop(at, None), self._marks.get(at, ABSENT)
        if member.leaves:
            self._latest[at] = row
        if member.mark >= 0:
            self._marks[at] = member.mark
        has_previous = previous is not None
        reported = {"has_previous": has_previous, "handed_out_before": has_previous, LATEST: latest}
        return LinkArguments(row, previous or NOTHING, NOTHING, reported)

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

    def links(self, row: Row) -> Iterator[tuple[str, LinkArguments]]:
        """A step with what came before it, by each kind of link that it is put to."""
        found = ((LINK, self.of_producer(row)), (ID_LINK, self.of_id(row)))
        yield from ((kind, step) for kind, step in found if step is not None)
        for kind, member in chains_of(row):
            yield kind, self._of(kind, row, member)
