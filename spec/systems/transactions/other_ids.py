"""The actions of other transactional ids, as far as the state of one id shows them: any number of them, at any time.

They write to the same partitions, commit offsets of the same group, and draw producer ids. What they are seen to do is
all that an action of this id does to what it shares with them (`shared_cells`); the rest is theirs alone.
"""

from spec.algebra import Term, all_of, any_of, negate
from spec.protocol.offsets import OffsetEntry
from spec.systems.language import Action, State, always, update
from spec.systems.transactions.action_base import Guard
from spec.systems.transactions.readers import ReaderActions
from spec.systems.transactions.world import DATA, KIND, NUMBER, OFFSETS, PARTITION, READER, UNUSED
from spec.vocabulary import ABSENT


class OtherIds(ReaderActions):
    """What other ids do to partitions, to the group, and to the producer ids that are drawn; and who reads it."""

    def all(self) -> tuple[Action, ...]:
        """Every action, where there are other ids, readers and groups."""
        knobs = self.knobs
        actions = {
            "other_id_begins_to_use": (knobs.groups, (PARTITION, KIND)),
            "other_id_appends": (knobs.numbers, (PARTITION,)),
            "other_id_offset_is_committed": (knobs.groups, (PARTITION, NUMBER)),
            "other_id_draws_producer_id": (knobs.rotates, ()),
            "reader_passes_other_id": (knobs.readers, (READER, PARTITION)),
        }
        return tuple(self._action(name, *over) for name, (there, over) in actions.items() if knobs.other_ids and there)

    def other_id_begins_to_use_if(self, state: State, partition: Term, kind: Term) -> Guard:
        """The partition is unused."""
        yield state.kind(partition) == UNUSED
        yield any_of(kind == DATA, kind == OFFSETS)

    def other_id_begins_to_use(self, state: State, partition: Term, kind: Term) -> State:
        """It is for data, or for offsets."""
        return state.but(kind=update(state.kind, partition, to=kind))

    def other_id_appends_if(self, state: State, partition: Term) -> Guard:
        """The log of an instance has room."""
        yield any_of(not self.knobs.limited, state.log_end(partition) < self.knobs.sizes()[NUMBER.name])

    def other_id_appends(self, state: State, partition: Term) -> State:
        """The last batch of the partition is another id's."""
        end = state.log_end(partition)
        return state.but(
            log_end=update(state.log_end, partition, to=end + 1),
            of_other_id=update(state.of_other_id, partition, end, to=True),
        )

    def other_id_offset_is_committed_if(self, state: State, partition: Term, number: Term) -> Guard:
        """An offset of another id is in the log, later than the one that the group has."""
        yield state.kind(partition) == OFFSETS
        yield state.of_other_id(partition, number)
        yield number > state.group_offset(partition).recorded_at

    def other_id_offset_is_committed(self, state: State, partition: Term, number: Term) -> State:
        """A marker of that id has made it the group's; it is of no transaction of this id."""
        return state.but(group_offset=update(state.group_offset, partition, to=OffsetEntry(ABSENT, number)))

    def other_id_draws_producer_id_if(self, state: State) -> Guard:
        """At any time."""
        yield any_of(not self.knobs.limited, state.drawn() < self.knobs.bounds.producer_ids)

    def other_id_draws_producer_id(self, state: State) -> State:
        """The next producer id is not this id's."""
        drawn = state.drawn()
        return state.but(drawn=always(drawn + 1), drawn_by_other_id=update(state.drawn_by_other_id, drawn, to=True))

    def reader_passes_other_id_if(self, state: State, reader: Term, partition: Term) -> Guard:
        """The reader's next batch is another id's, and below the bound of its fetch."""
        view = self.of(state)
        position = view.position(reader, partition)
        yield view.of_other_id(partition, position)
        yield position < self.bound(view, reader, partition)

    def reader_passes_other_id(self, state: State, reader: Term, partition: Term) -> State:
        """It is given to the application or filtered out, and the reader continues."""
        position = state.position(reader, partition)
        return state.but(position=update(state.position, reader, partition, to=position + 1))


def _may_become(before: Term, after: Term) -> Term:
    return any_of(after == before, after == before + 1)


def shared_cells(before: State, after: State, partition: Term) -> Term:
    """What ids share has changed only as `OtherIds` lets it: this id is to others what they are to it.

    Args:
        before: the state of the system before the step.
        after: the state after it.
        partition: any.
    """
    was, now = before.group_offset(partition), after.group_offset(partition)
    same = all_of(now.offset == was.offset, now.recorded_at == was.recorded_at)
    later = all_of(
        after.kind(partition) == OFFSETS,
        now.recorded_at > was.recorded_at,
        now.recorded_at < before.log_end(partition),
        negate(before.of_other_id(partition, now.recorded_at)),
    )
    used = any_of(after.kind(partition) == DATA, after.kind(partition) == OFFSETS)
    begins = all_of(before.kind(partition) == UNUSED, used)
    return all_of(
        any_of(after.kind(partition) == before.kind(partition), begins),
        _may_become(before.log_end(partition), after.log_end(partition)),
        any_of(same, later),
        after.generation() == before.generation(),
        _may_become(before.drawn(), after.drawn()),
    )
