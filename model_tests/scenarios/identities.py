"""Producer ids: every broker hands them out, from a block of its own."""

from model_tests.scenarios.identities_stage import IdentitiesStage, OfIdentities
from model_tests.scenarios.scenario import Facts, scenario
from spec.vocabulary import PRODUCER_ID_BLOCK

LAST_BLOCK = 2**63 - 1 - PRODUCER_ID_BLOCK  # the beginning of the last whole block of producer ids


@scenario(
    "block-race",
    "Two brokers want the same block of producer ids, and one of them has to read again",
    items=(2,),
    story="""Both brokers read the shared record and find the same block free. A claim is written only if the record is
    still the one that was read: the second one comes too late, reads again, and gets the next block. From then on each
    hands out ids of its own block without a request.""",
    setting=OfIdentities(),
    expected={
        "ids of broker 0": ["1000", "1001"],
        "ids of broker 1": ["0", "1"],
        "claims that came too late": 1,
        "free in the end from": 2000,
    },
)
def block_race(stage: IdentitiesStage) -> Facts:
    """Broker 1 claims a block between the reading of broker 0 and its writing."""
    of_the_other: list[str] = []
    stage.record.meanwhile = lambda: of_the_other.append(stage.request_id(1))
    of_the_first = [stage.request_id(0), stage.request_id(0)]
    of_the_other.append(stage.request_id(1))
    return {
        "ids of broker 0": of_the_first,
        "ids of broker 1": of_the_other,
        "claims that came too late": stage.record.too_late,
        "free in the end from": stage.known.first,
    }


@scenario(
    "block-lost",
    "A broker that restarts loses the rest of its block",
    items=(2, 7),
    story="""What was left of a block is kept in memory alone. After a restart the broker claims another one: there are
    gaps, and a later id may be lower than an earlier one. No id is handed out twice, and that is all that ids are
    for.""",
    setting=OfIdentities(),
    expected={"handed out, in this order": ["0", "1000", "2000", "1001"]},
)
def block_lost(stage: IdentitiesStage) -> Facts:
    """Broker 0 restarts after its first id."""
    given = [stage.request_id(0), stage.request_id(1)]
    stage.restarts(0)
    given += [stage.request_id(0), stage.request_id(1)]
    return {"handed out, in this order": given}


@scenario(
    "ids-exhausted",
    "After the last block there are no producer ids any more",
    items=(2, 15),
    story="""Ids are 64 bits, and none is used again. A broker continues with the block that it has; a request for
    another block is refused, and the record stays as it is. At a million ids a second that would be in three hundred
    thousand years.""",
    setting=OfIdentities(first=LAST_BLOCK),
    expected={
        "broker 0": ["9223372036854774807", "9223372036854774808"],
        "broker 1": "UNKNOWN_SERVER_ERROR",
        "the record is written": 1,
    },
)
def ids_exhausted(stage: IdentitiesStage) -> Facts:
    """Broker 0 has the last block, broker 1 wants one."""
    first, refused, second = stage.request_id(0), stage.request_id(1), stage.request_id(0)
    return {"broker 0": [first, second], "broker 1": refused, "the record is written": stage.known.version}
