"""KIP-1319: a TxnOffsetCommit names the topic's id, and no longer its name.

A topic that is deleted and made again has the same name and another id. The offset of a commit is kept with the id of
its topic, and a fetch for another id does not see it (OffsetMetadataManager, isMismatchedTopicId). By name, the broker
looks the id up when the commit arrives (KafkaApis, up to version 5): a commit that is late is then kept as one of the
topic that there is now. By id it is refused (UNKNOWN_TOPIC_ID, version 6).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol.offsets import NO_OFFSET
from spec.systems.language import Action, State, System, Variable, pick, rewrite, update
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.variant import (
    Variant,
    VariantInstance,
    VariantView,
    claimed,
    followed,
    guarded,
    restated,
    with_more,
)
from spec.systems.transactions.world import BATCHES, PARTITION, TRANSACTION, Bounds
from spec.versions import NEWEST
from spec.vocabulary import ABSENT

LAST_TOPIC = 1
"""The number of the last topic of a name in an instance; the first is 0."""


def read_offset_is_of_its_topic(view: TransactionLemmaView, partition: Term) -> Term:
    """The offset that a group reads was committed for the topic that there is now."""
    taken, now = view.group_offset(partition), view.topic(partition)
    is_read = all_of(taken.present, view.topic_kept(taken.offset, partition) == now)
    return implies(is_read, view.topic_named(taken.offset, partition) == now)


def commit_is_for_the_topic_that_it_names(view: TransactionLemmaView, txn: Term, partition: Term) -> Term:
    """What a commit is kept for is what it names, and no topic is named before it is there."""
    now, named = view.topic(partition), view.topic_named(txn, partition)
    found, kept = view.topic_found(txn, partition), view.topic_kept(txn, partition)
    unsent = view.produced(txn, partition, 0) == ABSENT
    return all_of(
        now >= 0,
        named <= now,
        any_of(found == ABSENT, found == named),
        any_of(kept == ABSENT, kept == named),
        implies(unsent, all_of(found == ABSENT, kept == ABSENT)),
    )


@dataclass(frozen=True, slots=True)
class RecreatedTopics:
    """Topics that are deleted and made again; a partition of offsets holds the group's offset of one.

    Attributes:
        by_id: a commit names its topic by the id.
    """

    by_id: bool

    def system(self, system: System, view: VariantView) -> System:
        """The system with such topics, where transactions commit offsets."""
        if not view.knobs.groups:
            return system

        def may_be_made_again(state: State, partition: Term) -> Iterator[Term]:
            yield any_of(not view.knobs.limited, state.topic(partition) < LAST_TOPIC)

        at = (TRANSACTION, PARTITION)
        lemma = claimed(commit_is_for_the_topic_that_it_names, rules.OFFSETS_ATOMIC, view, *at)
        more = with_more(
            system,
            variables=(
                Variable("topic", (PARTITION,), 0),
                Variable("topic_named", (TRANSACTION, PARTITION), ABSENT),
                Variable("topic_found", (TRANSACTION, PARTITION), ABSENT),
                Variable("topic_kept", (TRANSACTION, PARTITION), ABSENT),
            ),
            actions=(Action("topic_is_made_again", (PARTITION,), may_be_made_again, _made_again),),
            theorems=(claimed(read_offset_is_of_its_topic, rules.OFFSETS_ATOMIC, view, PARTITION),),
            lemmas=(lemma,) if self.by_id else (),
        )
        for name in ("stable_fetch_waits", "outputs_come_with_offsets", "open_is_pending", "committed_was_visible"):
            more = restated(more, name, _is_of_a_topic_before)

        def kept(before: State, after: State, txn: Term, partition: Term) -> State:
            words = view(before)
            appended = words.appended(txn, partition, 0, words.offset_batch(txn)).reply.appended
            of = choose(
                all_of(appended, words.is_let_commit(txn, partition)),
                before.topic_found(txn, partition),
                before.topic_kept(txn, partition),
            )
            return after.but(topic_kept=update(after.topic_kept, txn, partition, to=of))

        named = followed(followed(more, "client_commits_offset", _names), "group_appends_commit", kept)
        return guarded(followed(named, "group_receives_commit", self._finds), "group_receives_commit", self._is_there)

    def _is_there(self, state: State, txn: Term, partition: Term) -> Iterator[Term]:
        """By id, a commit for a topic that is gone is refused; by name there is always one."""
        yield any_of(not self.by_id, state.topic_named(txn, partition) == state.topic(partition))

    def _finds(self, before: State, after: State, txn: Term, partition: Term) -> State:
        """The commit is for the topic that it names, or for the one that has the name when it arrives."""
        of = before.topic_named(txn, partition) if self.by_id else before.topic(partition)
        return after.but(topic_found=update(after.topic_found, txn, partition, to=of))


def _names(before: State, after: State, _: Term, txn: Term, partition: Term) -> State:
    """The client means the topic that it has read from."""
    return after.but(topic_named=update(after.topic_named, txn, partition, to=before.topic(partition)))


def _is_of_a_topic_before(state: State, txn: Term, partition: Term, *_: Term) -> Term:
    """Offsets of a topic that is gone are deleted, pending ones too: nothing is promised of them."""
    return negate(state.topic_kept(txn, partition) == state.topic(partition))


def _made_again(state: State, partition: Term) -> State:
    """The topic is deleted, with the offsets that are kept for it, and made again (onTopicsDeleted)."""

    def gone(offset: Term) -> Term:
        return all_of(offset.present, state.topic_kept(offset.offset, partition) == state.topic(partition))

    def dropped(producer: Term, p: Term) -> Term:
        return all_of(p == partition, gone(state.pending(producer, p)))

    group = state.group_offset(partition)
    return state.but(
        topic=update(state.topic, partition, to=state.topic(partition) + 1),
        group_offset=update(state.group_offset, partition, to=pick(gone(group), NO_OFFSET, group)),
        pending=rewrite(state.pending, dropped, lambda *_: NO_OFFSET),
    )


_COMMITTING = quiet(NEWEST, groups=True, outlive=frozenset({BATCHES}), bounds=Bounds(transactions=1))

BY_NAME = Variant(
    name=f"{NEWEST.name} with topics that are made again",
    sentence="the newest release: a commit names a topic by its name",
    source=("TxnOffsetCommitRequest.json, version 5",),
    system=RecreatedTopics(by_id=False).system,
)

VARIANT = Variant(
    name="KIP-1319",
    sentence="a TxnOffsetCommit names a topic by its id, so that no offset of a topic before is read",
    source=("KIP-1319", "KAFKA-20444", "TxnOffsetCommitRequest.json, version 6"),
    system=RecreatedTopics(by_id=True).system,
    instances=(
        VariantInstance("a topic that is made again", _COMMITTING, mends="read_offset_is_of_its_topic"),
        VariantInstance("two transactions without a group", quiet(NEWEST)),
    ),
    before=BY_NAME,
)
