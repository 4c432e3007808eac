"""Narration of the system of one transactional id: its instances, its coordinator, and time."""

from collections.abc import Iterator
from typing import Any, Final

from model_tests.bugs.narration import ActionNarration, Moment
from model_tests.diagrams.events import DrawnMessage, Event, Mark, Note
from spec.bugs.bug import SearchCase
from spec.systems.coordinator.transactional_id import CoordinatorKnobs
from spec.vocabulary import MAX_EPOCH, Api, TransactionState

INSTANCES: Final = ("instance 0", "instance 1")
COORDINATOR: Final = "coordinator"
LOG: Final = "__transaction_state"
OUTCOMES: Final = ("abort", "commit")


def state_of(entry: Any) -> str:
    """What the coordinator knows, in a few words."""
    if not entry.known:
        return "the id is unknown"
    name = TransactionState(entry.state).name
    pending = f", {TransactionState(entry.pending).name} pending" if entry.pending >= 0 else ""
    return f"{name}{pending}: producer id {entry.producer_id}, epoch {entry.producer_epoch}"


def _identity(moment: Moment, instance: int) -> str:
    return f"{moment.before.producer_id(instance)}/{moment.before.producer_epoch(instance)}"


def _given(moment: Moment, instance: int) -> str:
    return f"{moment.after.producer_id(instance)}/{moment.after.producer_epoch(instance)}"


def _known(moment: Moment) -> Note:
    return Note(COORDINATOR, state_of(moment.after.entry()))


def instance_starts(moment: Moment) -> Iterator[Event]:
    """InitProducerId, and an identity."""
    (instance,) = moment.at
    yield DrawnMessage(INSTANCES[instance], COORDINATOR, Api.INIT_PRODUCER_ID)
    yield _known(moment)
    yield DrawnMessage(COORDINATOR, INSTANCES[instance], f"identity {_given(moment, instance)}")


def start_fences(moment: Moment) -> Iterator[Event]:
    """InitProducerId while a transaction is open."""
    yield DrawnMessage(INSTANCES[moment.at[0]], COORDINATOR, Api.INIT_PRODUCER_ID)
    yield _known(moment)
    yield DrawnMessage(COORDINATOR, INSTANCES[moment.at[0]], "CONCURRENT_TRANSACTIONS", Mark.REFUSED)


def instance_adds(moment: Moment) -> Iterator[Event]:
    """AddPartitionsToTxn, and its answer."""
    (instance,) = moment.at
    yield DrawnMessage(INSTANCES[instance], COORDINATOR, f"AddPartitionsToTxn, {_identity(moment, instance)}")
    if moment.after.must_recover(instance):
        yield DrawnMessage(COORDINATOR, INSTANCES[instance], "INVALID_PRODUCER_ID_MAPPING", Mark.REFUSED)
        yield Note(INSTANCES[instance], "treats it as an abortable error")
    elif not moment.after.alive(instance):
        yield DrawnMessage(COORDINATOR, INSTANCES[instance], "the identity is not the newest", Mark.REFUSED)
    else:
        yield _known(moment)


def instance_ends(moment: Moment) -> Iterator[Event]:
    """EndTxn, and its answer."""
    instance, outcome = moment.at
    yield DrawnMessage(INSTANCES[instance], COORDINATOR, f"EndTxn {OUTCOMES[outcome]}, {_identity(moment, instance)}")
    yield _known(moment)
    yield _answer(moment, instance)


def end_without_answer(moment: Moment) -> Iterator[Event]:
    """EndTxn, and its answer is lost."""
    instance, outcome = moment.at
    yield DrawnMessage(INSTANCES[instance], COORDINATOR, f"EndTxn {OUTCOMES[outcome]}, {_identity(moment, instance)}")
    yield _known(moment)
    yield DrawnMessage(COORDINATOR, INSTANCES[instance], "NONE", Mark.LOST)


def instance_ends_again(moment: Moment) -> Iterator[Event]:
    """The same EndTxn again."""
    (instance,) = moment.at
    outcome = OUTCOMES[moment.before.in_doubt(instance)]
    yield DrawnMessage(INSTANCES[instance], COORDINATOR, f"EndTxn {outcome}, {_identity(moment, instance)}", Mark.AGAIN)
    yield _answer(moment, instance)


def _answer(moment: Moment, instance: int) -> DrawnMessage:
    if moment.after.alive(instance):
        return DrawnMessage(COORDINATOR, INSTANCES[instance], f"NONE, identity {_given(moment, instance)}")
    locked = moment.after.entry().pending >= 0 and moment.after.entry().state == TransactionState.ONGOING
    why = "UNSUPPORTED_VERSION" if locked else "not this transaction, or not this identity"
    return DrawnMessage(COORDINATOR, INSTANCES[instance], why, Mark.REFUSED)


def instance_recovers(moment: Moment) -> Iterator[Event]:
    """InitProducerId with the identity that the client had."""
    (instance,) = moment.at
    yield DrawnMessage(INSTANCES[instance], COORDINATOR, f"InitProducerId, {_identity(moment, instance)} expected")
    yield _known(moment)
    yield DrawnMessage(COORDINATOR, INSTANCES[instance], f"identity {_given(moment, instance)}")


def transaction_completes(moment: Moment) -> Iterator[Event]:
    """All markers are written."""
    yield Note(COORDINATOR, f"all markers are written; {state_of(moment.after.entry())}")


def transaction_times_out(moment: Moment) -> Iterator[Event]:
    """The coordinator aborts by itself."""
    yield Note(COORDINATOR, f"timeout; {state_of(moment.after.entry())}")


def timeout_in_vain(moment: Moment) -> Iterator[Event]:
    """The coordinator aborts by itself, and the log does not take it."""
    yield Note(COORDINATOR, "timeout: the epoch is raised")
    yield DrawnMessage(COORDINATOR, LOG, "PREPARE_ABORT", Mark.LOST)
    yield _known(moment)


def coordinator_fails_over(moment: Moment) -> Iterator[Event]:
    """Another coordinator reads the log."""
    yield DrawnMessage(LOG, COORDINATOR, "a new coordinator reads the newest record")
    yield _known(moment)


def version_is_lowered(_: Moment) -> Iterator[Event]:
    """Another transaction version is in force."""
    yield Note(COORDINATOR, "the cluster's transaction.version is lowered")


def id_expires(_: Moment) -> Iterator[Event]:
    """The id is forgotten."""
    yield Note(COORDINATOR, "the id has been at rest for long, and is forgotten")


def epochs_end_early(case: SearchCase) -> Iterator[Event]:
    """The epoch that is kept for fencing, which is a small one here."""
    if isinstance(case.instance.knobs, CoordinatorKnobs):
        yield Note(COORDINATOR, f"the epoch kept for fencing is {case.instance.knobs.profile.max_epoch} here")
        yield Note(COORDINATOR, f"(in Kafka it is {MAX_EPOCH})")


ONE_ID: Final = ActionNarration(
    (*INSTANCES, COORDINATOR, LOG),
    {
        "instance_starts": instance_starts,
        "start_fences": start_fences,
        "instance_adds": instance_adds,
        "instance_ends": instance_ends,
        "end_without_answer": end_without_answer,
        "instance_ends_again": instance_ends_again,
        "instance_recovers": instance_recovers,
        "transaction_completes": transaction_completes,
        "transaction_times_out": transaction_times_out,
        "timeout_in_vain": timeout_in_vain,
        "coordinator_fails_over": coordinator_fails_over,
        "id_expires": id_expires,
        "version_is_lowered": version_is_lowered,
    },
    preface=epochs_end_early,
)
