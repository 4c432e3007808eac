"""A marker away from its transaction, behind later ones of its producer: moved or written once more, one finding."""

from collections.abc import Iterable
from dataclasses import replace

from model_tests.traces.audit.findings import Finding
from model_tests.traces.audit.transactions_join import Ended, Joined, Place
from model_tests.traces.audit.transactions_located import Located, located, outcome_word
from model_tests.traces.audit.transactions_match import is_during, is_of
from spec import rules


def is_misplaced(ended: Ended, one: Joined) -> bool:
    """The marker is in all but its place one of this transaction's."""
    marker, known = ended.marker, one.known
    if marker.producer_id != known.producer_id:
        return False
    registered = (ended.place.topic, ended.place.partition) in known.partitions
    return registered and is_of(marker, known) and is_during(marker, known) and marker.outcome == known.outcome


def misplaced(ended: Ended, one: Joined) -> Located:
    """The finding, where the marker is."""
    marker, known = ended.marker, one.known
    own = next((each.marker.offset for each in one.ended if each.place is ended.place), None)
    message = (
        f"the {outcome_word(marker.outcome)} marker of the transaction whose Prepare record is at offset "
        f"{known.prepared_offset} of the coordinator's log stands behind later ones"
    )
    if own is not None:
        message += f"; that has its marker at offset {own} already"
    if ended.runs:
        message += f"; it ends the data from offset {ended.runs[0].first_offset} on"
    step, epoch = "WriteTxnMarkers", marker.producer_epoch
    return located(ended.place, rules.TXN_MARKER_ONCE, marker.offset, known, message, step, "", epoch)


def found_misplaced(one: Joined, place: Place, loose: Iterable[Ended], found: Iterable[Located]) -> Located | None:
    """What was found of the transaction's marker, where it is away from it at this place.

    Args:
        one: the transaction.
        place: the partition.
        loose: markers that end no transaction of the coordinator's log.
        found: what was found of these.
    """
    offsets = {each.marker.offset for each in loose if each.place is place and is_misplaced(each, one)}
    return next((each for each in found if each[0] is place and _is_one(each[1], offsets, one)), None)


def _is_one(finding: Finding, offsets: set[int], one: Joined) -> bool:
    return finding.producer_id == one.known.producer_id and finding.offset in offsets


def with_lacking(misplaced: Located, lacking: Located) -> Located:
    """The finding with what the transaction lacks for it."""
    place, finding = misplaced
    return place, replace(finding, message=f"{finding.message}; {lacking[1].message}")
