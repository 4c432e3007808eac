"""What brokers and controllers refuse about replicas."""

from reference.errors import Refusal
from spec import rules
from spec.vocabulary import ErrorCode


class FencedLeaderEpoch(Refusal):
    """The request names a leader epoch that has passed."""

    code = ErrorCode.FENCED_LEADER_EPOCH
    rule = rules.REPL_PREFIX_AGREEMENT


class UnknownLeaderEpoch(Refusal):
    """The request names a leader epoch that this broker does not know yet."""

    code = ErrorCode.UNKNOWN_LEADER_EPOCH
    rule = rules.REPL_PREFIX_AGREEMENT


class StaleControllerEpoch(Refusal):
    """The request is of a controller that another one has replaced."""

    code = ErrorCode.STALE_CONTROLLER_EPOCH


class NotController(Refusal):
    """This node is not the controller, or not any more."""

    code = ErrorCode.NOT_CONTROLLER


class StaleBrokerEpoch(Refusal):
    """The sender has been registered again since."""

    code = ErrorCode.STALE_BROKER_EPOCH


class InvalidUpdateVersion(Refusal):
    """The proposal is of a state of the partition that has changed since."""

    code = ErrorCode.INVALID_UPDATE_VERSION
    rule = rules.REPL_COMMITTED_SURVIVES


class IneligibleReplica(Refusal):
    """A broker that is to join the in-sync set is not there, or not the one whose fetches were counted."""

    code = ErrorCode.INELIGIBLE_REPLICA
    rule = rules.REPL_COMMITTED_SURVIVES


class InvalidProposal(Refusal):
    """The sender does not lead, or the proposed in-sync set lacks the leader or has a broker of no replica."""

    code = ErrorCode.INVALID_REQUEST
    rule = rules.REPL_COMMITTED_SURVIVES


class PreferredLeaderNotAvailable(Refusal):
    """The first replica of the assignment is not in sync or not there."""

    code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


class ElectionNotNeeded(Refusal):
    """The partition has the leader that the election would give it."""

    code = ErrorCode.ELECTION_NOT_NEEDED


class UnexpectedAppendOffset(Refusal):
    """A copied batch begins before the follower's log end: the logs have diverged undetected."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE
    rule = rules.REPL_PREFIX_AGREEMENT
