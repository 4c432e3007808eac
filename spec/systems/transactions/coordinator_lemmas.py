"""Lemmas about the coordinator: its memory, its log, and the decisions that it made."""

from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol.coordinator import BUMPING, is_at_rest, is_exhausted, is_fencing, is_in, is_preparing
from spec.protocol.ending import IdAndEpoch
from spec.systems.transactions.known import COMPLETE, TransactionLemmaView, earlier, not_later, same
from spec.systems.transactions.world import ABORT, COMMIT
from spec.vocabulary import ABSENT, TransactionState

# --- memory and log -------------------------------------------------------------------------------------------


def memory_is_of_a_state(view: TransactionLemmaView) -> Term:
    """Only a fence is pending while a transaction is open, and Complete from Prepare on."""
    memory = view.remembers()
    aborting = is_in(memory, TransactionState.PREPARE_ABORT)
    complete = choose(aborting, TransactionState.COMPLETE_ABORT.value, TransactionState.COMPLETE_COMMIT.value)
    open_ = any_of(memory.pending == ABSENT, is_fencing(memory))
    ongoing = is_in(memory, TransactionState.ONGOING)
    return all_of(
        any_of(is_at_rest(memory), ongoing, is_preparing(memory)),
        implies(ongoing, open_),
        implies(is_preparing(memory), all_of(memory.pending == complete, memory.client_version == BUMPING)),
        implies(is_at_rest(memory), memory.pending == ABSENT),
        negate(memory.fence_failed),
    )


def identity_is_in_range(view: TransactionLemmaView) -> Term:
    """The last epoch is only a fence's, and its transaction rotates; producer ids are drawn in order."""
    memory, last = view.remembers(), view.knobs.profile.max_epoch
    epoch, next_one = memory.producer_epoch, memory.next_producer_id
    rotates = all_of(next_one > memory.producer_id, next_one < view.drawn())
    preparing = is_preparing(memory)
    return all_of(
        implies(negate(preparing), all_of(epoch < last, next_one == ABSENT)),
        implies(preparing, all_of(epoch >= 1, epoch <= last)),
        implies(preparing, choose(epoch == last, rotates, next_one == ABSENT)) if view.knobs.rotates else True,
        implies(is_in(memory, TransactionState.ONGOING, *COMPLETE), epoch >= 0),
        memory.producer_id >= 0,
        memory.producer_id < view.drawn(),
        memory.previous_producer_id <= memory.producer_id,
        implies(all_of(is_in(memory, *COMPLETE), epoch == 0), memory.previous_producer_id < memory.producer_id),
    )


def carries_out_its_decision(view: TransactionLemmaView) -> Term:
    """From Prepare on the coordinator carries out the last decision, and at no other time any."""
    decision = view.decision()
    last = all_of(decision >= 0, decision == view.decisions() - 1)
    return choose(is_preparing(view.remembers()), last, decision == ABSENT)


def last_decision_is_remembered(view: TransactionLemmaView) -> Term:
    """Until something new begins, memory has the outcome and the identity of the last decision."""
    memory, decision = view.remembers(), view.decisions() - 1
    commits = is_in(memory, TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
    mark, before = view.mark(decision), view.used_up()
    remembered = all_of(
        view.decisions() > 0,
        choose(commits, view.commits(decision), view.aborts(decision)),
        mark.producer_id == before.producer_id,
        mark.producer_epoch == before.producer_epoch + 1,
    )
    return all_of(view.decisions() >= 0, implies(view.ends(), remembered))


def log_is_memory_or_ahead(view: TransactionLemmaView) -> Term:
    """The last record is what memory says, or one more that the coordinator takes for lost."""
    memory = view.remembers()
    quiet = negate(is_preparing(memory))
    ahead = any_of(_identity_ahead(view), _repeated_ahead(view), _partition_ahead(view), _decision_ahead(view))
    return any_of(_log_is_memory(view), all_of(quiet, view.record_decision() == ABSENT, ahead))


def _log_is_memory(view: TransactionLemmaView) -> Term:
    memory, record = view.remembers(), view.recorded_entry()
    opener = choose(is_preparing(memory), view.opened_by(view.decision()), view.opened())
    return all_of(
        record.state == memory.state,
        same(view.logged(), view.held()),
        record.next_producer_id == memory.next_producer_id,
        record.previous_producer_id == memory.previous_producer_id,
        implies(is_preparing(memory), record.client_version == BUMPING),
        view.record_opened() == opener,
        view.record_decision() == view.decision(),
    )


def _identity_ahead(view: TransactionLemmaView) -> Term:
    memory, record = view.remembers(), view.recorded_entry()
    exhausted = is_exhausted(memory.producer_epoch, view.knobs.profile)
    next_id = all_of(
        record.producer_id > memory.producer_id, record.producer_id < view.drawn(), record.producer_epoch == 0
    )
    next_epoch = all_of(record.producer_id == memory.producer_id, record.producer_epoch == memory.producer_epoch + 1)
    return all_of(
        is_at_rest(memory),
        is_in(record, TransactionState.EMPTY),
        choose(exhausted, next_id, next_epoch),
        record.next_producer_id == ABSENT,
        record.previous_producer_id <= record.producer_id,
        view.record_opened() == ABSENT,
        view.newest().producer_epoch == ABSENT,
    )


def _repeated_ahead(view: TransactionLemmaView) -> Term:
    record = view.recorded_entry()
    return all_of(
        is_in(view.remembers(), TransactionState.EMPTY),
        is_in(record, TransactionState.EMPTY),
        same(view.logged(), view.held()),
        record.next_producer_id == ABSENT,
        record.previous_producer_id == record.producer_id,
        view.record_opened() == ABSENT,
    )


def _partition_ahead(view: TransactionLemmaView) -> Term:
    return all_of(
        is_in(view.recorded_entry(), TransactionState.ONGOING),
        same(view.logged(), view.held()),
        _carries_over(view),
        view.recorded_entry().next_producer_id == ABSENT,
    )


def _decision_ahead(view: TransactionLemmaView) -> Term:
    record, held, last = view.recorded_entry(), view.held(), view.knobs.profile.max_epoch
    next_one = record.next_producer_id
    rotates = all_of(next_one > record.producer_id, next_one < view.drawn())
    by = view.record_ended()
    end_sent = all_of(by == view.record_opened(), view.end_sent(by) >= 0)
    return all_of(
        is_preparing(record),
        same(view.logged(), IdAndEpoch(held.producer_id, held.producer_epoch + 1)),
        _carries_over(view),
        choose(record.producer_epoch == last, rotates, next_one == ABSENT) if view.knobs.rotates else True,
        record.client_version == BUMPING,
        choose(by == ABSENT, view.newest().producer_epoch == ABSENT, end_sent),
    )


def _carries_over(view: TransactionLemmaView) -> Term:
    owner = view.record_opened()
    mine = all_of(owner >= 0, view.owner(owner) >= 0, same(view.who(owner), view.held()))
    return all_of(mine, view.recorded_entry().previous_producer_id == view.remembers().producer_id)


def log_has_the_partitions(view: TransactionLemmaView, partition: Term) -> Term:
    """The log has every partition that memory has, and none but those of the transaction it opened."""
    recorded, registered = view.recorded(partition), view.registered(partition)
    open_ = negate(is_at_rest(view.recorded_entry()))
    of_open = any_of(recorded == ABSENT, all_of(recorded >= 0, recorded == view.record_opened(), open_))
    return all_of(of_open, implies(registered >= 0, recorded == registered))


def complete_is_always_awaited(view: TransactionLemmaView) -> Term:
    """The coordinator never forgets that it waits for markers."""
    return view.awaited()


def coordinators_are_numbered(view: TransactionLemmaView) -> Term:
    """Coordinators have epochs from 0 on."""
    return view.coordinator_epoch() >= 0


def senders_are_coordinators(view: TransactionLemmaView, decision: Term, coordinator: Term) -> Term:
    """Markers are sent by coordinators that there were, of decisions that were made."""
    there = all_of(coordinator >= 0, coordinator <= view.coordinator_epoch(), view.is_made(decision))
    return implies(view.sent_by(decision, coordinator), there)


def open_has_its_identity(view: TransactionLemmaView) -> Term:
    """The coordinator's open transaction has the identity of the client transaction that opened it."""
    owner = view.opened()
    mine = all_of(owner >= 0, view.owner(owner) >= 0, same(view.who(owner), view.held()))
    return all_of(
        implies(is_in(view.remembers(), TransactionState.ONGOING), mine),
        implies(is_at_rest(view.remembers()), owner == ABSENT),
    )


def no_bump_is_open(view: TransactionLemmaView) -> Term:
    """What is open for the coordinator, or for its log, has begun and is no client's bump."""
    return all_of(*(_is_begun(view, txn) for txn in (view.opened(), view.record_opened())))


def _is_begun(view: TransactionLemmaView, txn: Term) -> Term:
    return implies(txn >= 0, all_of(view.owner(txn) >= 0, negate(view.is_bump(txn))))


def no_bump_is_decided(view: TransactionLemmaView, decision: Term) -> Term:
    """What was decided is no client's bump."""
    return implies(view.is_made(decision), negate(view.is_bump(view.opened_by(decision))))


def registered_is_of_open(view: TransactionLemmaView, partition: Term) -> Term:
    """Partitions are registered by the transaction that is open or being ended."""
    registered = view.registered(partition)
    of_open = all_of(registered == view.opened(), negate(is_at_rest(view.remembers())))
    return any_of(registered == ABSENT, all_of(registered >= 0, of_open))


# --- decisions ------------------------------------------------------------------------------------------------


def decisions_are_numbered(view: TransactionLemmaView, decision: Term) -> Term:
    """Every decision has an outcome, a version and an epoch for its markers; nothing else has."""
    epoch = view.mark(decision).producer_epoch
    made = all_of(
        any_of(view.outcome(decision) == ABORT, view.outcome(decision) == COMMIT),
        view.marker(decision).version == BUMPING,
        epoch >= 1,
        epoch <= view.knobs.profile.max_epoch,
    )
    return choose(view.is_made(decision), made, view.outcome(decision) == ABSENT)


def unmade_is_unmarked(view: TransactionLemmaView, decision: Term, partition: Term) -> Term:
    """No partition has a marker of a decision that is not made."""
    blank = all_of(view.marked(decision, partition) == ABSENT, view.effects(decision, partition) == 0)
    return any_of(view.is_made(decision), blank)


def decision_is_of_its_opener(view: TransactionLemmaView, decision: Term) -> Term:
    """A decision's markers have the identity after that of the client transaction that it ends."""
    owner, mark = view.opened_by(decision), view.mark(decision)
    before = IdAndEpoch(mark.producer_id, mark.producer_epoch - 1)
    opened = all_of(owner >= 0, view.owner(owner) >= 0, same(view.who(owner), before))
    return implies(view.is_made(decision), opened)


def markers_rise(view: TransactionLemmaView, one: Term, other: Term) -> Term:
    """A later decision's markers have a later identity."""
    both = all_of(one >= 0, one < other, other < view.decisions())
    return implies(both, earlier(view.mark(one), view.mark(other)))


def markers_are_known(view: TransactionLemmaView, decision: Term) -> Term:
    """No marker has an identity later than the newest; after the last epoch of a producer id another one follows."""
    return implies(view.is_made(decision), not_later(view.mark(decision), view.frontier()))


def marker_has_effect_only_first(view: TransactionLemmaView, decision: Term, partition: Term) -> Term:
    """A marker that had an effect was written."""
    effects, marked = view.effects(decision, partition), view.marked(decision, partition)
    return any_of(effects == 0, all_of(effects == 1, marked >= 0))
