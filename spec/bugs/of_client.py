"""Known bugs of the client: how it numbers batches when it raises its epoch."""

from dataclasses import replace
from typing import Final

from spec import rules
from spec.bugs.bug import Bug, FiniteSystem, holds_in, violated
from spec.systems.client.producer import ClientKnobs
from spec.systems.client.system import client, sizes
from spec.systems.system_append import remembered
from spec.versions import PROFILES


def instance(release: str, knobs: ClientKnobs, partitions: int) -> FiniteSystem:
    """A producer whose leaders are of a release."""
    made = replace(knobs, profile=replace(PROFILES[release], max_sequence=None))
    return FiniteSystem(
        "client",
        made,
        lambda: client(made, remembered(made.decide)),
        lambda: client(made),
        sizes(made, partitions),
    )


_IN_ORDER: Final = ClientKnobs(batches=3)
_ANY_ORDER: Final = replace(_IN_ORDER, renumbers_in_order=False)
_REORDERED: Final = violated("2.0", instance("2.0", _ANY_ORDER, 1), "log_order_is_send_order")
_IDLE_KEPT: Final = violated("2.5", instance("2.5", ClientKnobs(idle_restart=False), 2), "lowest_is_taken")
_ALL_RENUMBERED: Final = violated(
    "librdkafka", instance("4.4", ClientKnobs(renumbers_others=True), 2), "logged_at_most_once"
)

OF_CLIENT: Final = (
    Bug(
        name="KAFKA-8483",
        title="batches numbered again in arbitrary order",
        mechanism="Several batches are in flight when one gets a fatal error, and the client numbers those after it "
        "again. It walks a heap, whose order is not that of the sequences, and the log gets them in another order.",
        source=("KAFKA-8483", "KAFKA-8484"),
        rule=rules.SEQ_ORDER,
        cases=(
            _REORDERED,
            holds_in(_REORDERED, "2.4", instance("2.4", _IN_ORDER, 1), why="the client of 2.3 renumbers in order"),
            holds_in(_REORDERED, "4.4", instance("4.4", _IN_ORDER, 1), why="the client of 2.3 renumbers in order"),
        ),
    ),
    Bug(
        name="KAFKA-12152",
        title="a raised epoch, and an idle partition that counts on",
        mechanism="A batch that is refused on one partition makes the client raise its epoch. A partition that had "
        "nothing in flight keeps its count, and its next batch comes with the new epoch and a sequence that is not 0: "
        "refused for ever.",
        source=("KAFKA-12152",),
        rule=rules.SEQ_EPOCH_RESET,
        cases=(
            _IDLE_KEPT,
            holds_in(_IDLE_KEPT, "2.7", instance("2.7", ClientKnobs(), 2), why="the client of 2.7 counts by partition"),
            holds_in(_IDLE_KEPT, "4.4", instance("4.4", ClientKnobs(), 2), why="the client of 2.7 counts by partition"),
        ),
    ),
    Bug(
        name="librdkafka#4953",
        title="a refusal on one partition duplicates a batch on another",
        mechanism="A batch is appended and its answer lost. A refusal on another partition makes the client raise its "
        "epoch and number what is in flight for all partitions from 0: the resend looks new to its leader.",
        source=("librdkafka#4953",),
        rule=rules.SEQ_EXACTLY_ONCE,
        cases=(
            _ALL_RENUMBERED,
            holds_in(
                _ALL_RENUMBERED,
                "4.4",
                instance("4.4", ClientKnobs(), 2),
                why="Kafka's own client renumbers the partition of the refusal, and no other",
            ),
        ),
    ),
)
