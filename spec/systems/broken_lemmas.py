"""Facts about releases with a bug: some input must refute each, or the fact means nothing."""

from spec import rules
from spec.protocol.groups import GroupEntry, KnownClaim
from spec.protocol.records import ProducerEntry
from spec.systems.answer_lemmas import Marking, marker_has_the_clients_version
from spec.systems.decision_lemmas import Fact, stated
from spec.systems.election_lemmas import OutOfSyncFollower, returning_replica_has_committed_records
from spec.systems.group_lemmas import RequestContext, past_members_are_fenced
from spec.versions import KAFKA_1_0, KAFKA_2_4, KAFKA_4_1


def facts_of_bugs() -> tuple[Fact, ...]:
    """What KIP-447, KAFKA-7128 and KAFKA-19446 mended, in the releases before."""
    members = (("group", GroupEntry), ("joining", KnownClaim), ("past", KnownClaim), ("context", RequestContext))
    marking = (("entry", ProducerEntry), ("of", Marking))
    return (
        stated(past_members_are_fenced, rules.OFFSETS_GENERATION_FENCE, members, KAFKA_2_4),
        stated(marker_has_the_clients_version, rules.TXN_MARKER_ONCE, marking, KAFKA_4_1),
        stated(
            returning_replica_has_committed_records,
            rules.REPL_COMMITTED_SURVIVES,
            (("who", OutOfSyncFollower),),
            KAFKA_1_0,
        ),
    )
