"""Access rights: they are checked before anything else, and a request without them changes nothing."""

from typing import Final

from model_tests.scenarios.fencing import ID, standing
from model_tests.scenarios.identities import IdentitiesStage, OfIdentities
from model_tests.scenarios.scenario import Facts, scenario
from model_tests.scenarios.transaction_stage import T0, OfTransactions, TransactionStage
from reference.broker.transaction_metadata import TopicPartition
from reference.log.partition import READ_UNCOMMITTED
from reference.world.authorization import THE_CLUSTER, AclOperation, Resource
from reference.world.replica_rows import TOPIC
from reference.world.transaction_shape import TransactionShape

CLOSED: Final = "closed"
AUTHOR: Final = f"User:{ID}"


@scenario(
    "right-to-an-id",
    "Who may not write to a transactional id cannot fence its owner",
    items=(3, 10, 15),
    story="""Every InitProducerId of a transactional id raises its epoch and aborts what is open: that is how a zombie
    is fenced, and it would be a way to harm others. InitProducerId therefore needs Write on the transactional id.
    Without it the answer is TRANSACTIONAL_ID_AUTHORIZATION_FAILED, the owner's epoch and transaction stay as they are,
    and it commits.""",
    setting=OfTransactions(),
    expected={
        "answer to the stranger": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "epoch at the coordinator, before and after": [0, 0],
        "the owner, in the end": "READY",
        "visible": ["a"],
    },
)
def right_to_an_id(stage: TransactionStage) -> Facts:
    """The second instance is of a user who may not write to the id."""
    with stage.story.offstage():
        owner = stage.start(ID)
    stage.begin(owner, t0="a")
    before = int(stage.known(ID).epoch)
    stage.brokers.authorizer.deny(AUTHOR, AclOperation.WRITE, Resource.TRANSACTIONAL_ID, ID)
    stranger = stage.start(ID)
    stage.brokers.authorizer.allow(AUTHOR, AclOperation.WRITE, Resource.TRANSACTIONAL_ID, ID)
    after = int(stage.known(ID).epoch)
    stage.end(owner)
    reported = stranger.initialized
    return {
        "answer to the stranger": reported.error.name if reported and reported.error else "nothing",
        "epoch at the coordinator, before and after": [before, after],
        "the owner, in the end": standing(owner),
        "visible": stage.shows(T0),
    }


@scenario(
    "right-to-a-topic",
    "A topic that may not be written to costs the transaction, and not the producer",
    items=(3, 15),
    story="""A transaction writes to two topics, and its producer may write to one. The other answers
    TOPIC_AUTHORIZATION_FAILED, and nothing is appended there. The transaction can only be aborted, with what is in the
    first topic; after that the producer continues.""",
    setting=OfTransactions(shape=TransactionShape(topics=(TOPIC, CLOSED), partitions=1)),
    expected={
        "the producer meanwhile": "ABORTABLE_ERROR: TOPIC_AUTHORIZATION_FAILED",
        "in the log of the closed topic": [],
        "the producer in the end": "READY",
        "visible": ["b"],
    },
)
def right_to_a_topic(stage: TransactionStage) -> Facts:
    """One record for each topic; then the abort, and another transaction."""
    closed = TopicPartition(CLOSED, 0)
    with stage.story.offstage():
        producer = stage.start(ID)
    stage.brokers.authorizer.deny(AUTHOR, AclOperation.WRITE, Resource.TOPIC, CLOSED)
    stage.begin(producer, t0="a")
    stage.send(producer, closed, "x")
    stage.settle()
    meanwhile = standing(producer)
    stage.end(producer, commit=False)
    stage.begin(producer, t0="b")
    stage.end(producer)
    return {
        "the producer meanwhile": meanwhile,
        "in the log of the closed topic": stage.read(closed, READ_UNCOMMITTED),
        "the producer in the end": standing(producer),
        "visible": stage.shows(T0),
    }


@scenario(
    "right-to-a-producer-id",
    "A producer id without transactional id: the cluster's right, or that to write to any topic",
    items=(3, 2, 25),
    story="""Not every client may have an id, since each costs brokers memory. Without transactional id a producer needs
    IdempotentWrite on the cluster; since KIP-679 Write on any topic is enough, as idempotence is the default.
    With neither the answer is CLUSTER_AUTHORIZATION_FAILED, and no id is used up.""",
    setting=OfIdentities(),
    expected={
        "with neither": "CLUSTER_AUTHORIZATION_FAILED",
        "with Write on a topic": "0",
        "with IdempotentWrite on the cluster": "1",
    },
)
def right_to_a_producer_id(stage: IdentitiesStage) -> Facts:
    """The same request with no right, with the one and with the other."""
    rights, user = stage.brokers.authorizer, stage.plain.all[0].principal
    rights.deny(user, AclOperation.IDEMPOTENT_WRITE, Resource.CLUSTER, THE_CLUSTER)
    for topic in stage.shape.topics:
        rights.deny(user, AclOperation.WRITE, Resource.TOPIC, topic)
    neither = stage.request_id(0)
    rights.allow(user, AclOperation.WRITE, Resource.TOPIC, topic)
    by_topic = stage.request_id(0)
    rights.deny(user, AclOperation.WRITE, Resource.TOPIC, topic)
    rights.allow(user, AclOperation.IDEMPOTENT_WRITE, Resource.CLUSTER, THE_CLUSTER)
    return {
        "with neither": neither,
        "with Write on a topic": by_topic,
        "with IdempotentWrite on the cluster": stage.request_id(0),
    }
