"""The theorem from the client's call to the reader's record, as a chain: what each system shows, and who takes it.

A link names what is proved on its one side and on its other side. Where it has a formula, both sides are instances of
that formula, in words that both systems have; what relates the words is said in a sentence, and is not proved.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from spec.systems import assumptions as assume
from spec.systems.assumptions import Assumption, ControlOf, in_order

THEOREM: Final = (
    "What a client was answered is committed is in the log once, and each read_committed reader that follows its"
    " partition from the start reads it exactly once, in the order of its producer; a read_committed group does so once"
    " in what it commits with its offset, whatever its members, the network, coordinators, leaders, readers and other"
    " clients do, under the numbered assumptions."
)
"""The theorem in one sentence."""


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One link.

    Attributes:
        shows: what is proved on the one side: by system, names of theorems and of lemmas of steps.
        takes: what is proved on the other side, likewise: that it needs no more.
        formula: the function that both sides are instances of; empty where the link has one side.
        discharges: assumptions of the other side that nothing takes for granted any more.
        in_words: what relates the words of the two sides.
        control: what breaks the link.
    """

    name: str
    sentence: str
    shows: Mapping[str, tuple[str, ...]]
    takes: Mapping[str, tuple[str, ...]]
    formula: str
    discharges: tuple[Assumption, ...]
    in_words: str
    control: ControlOf


def _named(**names: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType(names)


def _step(system: str, what: str, lemma: str, action: str) -> ControlOf:
    """The control that takes a lemma of steps away, by the name that it is reported with."""
    return ControlOf(system, f"{what}: {lemma} under {action}")


PREPARED: Final = "while an outcome is carried out"

NOTHING: Final = _named()

LINKS: Final = (
    ChainLink(
        "producer ids",
        "No producer id is handed out twice, so that the one that a coordinator draws is new.",
        _named(ids=("no_id_twice",), new_ids=("next_id_is_new",)),
        _named(frame=("drawn_id_is_new",)),
        "spec.systems.links.is_new",
        (assume.PRODUCER_IDS_ARE_UNIQUE,),
        "a coordinator draws what its broker hands out next; that ids rise is a choice of names, as nothing asks which"
        " of two is larger",
        ControlOf("ids", "claims are not compared"),
    ),
    ChainLink(
        "replicas",
        "An elected leader has what is committed, which is all that the partition asks of an election.",
        _named(replication=("leader_has_committed_records",), kept=("elected_leader_keeps_committed",)),
        _named(durable=("election_assumes_no_more",)),
        "spec.systems.links.keeps_committed",
        (assume.COMMITTED_SURVIVES,),
        "the batches that were below a high watermark of the replicas are those that the partition counts as copied; a"
        " leader's tail that the last one did not have is there a shorter log and new appends",
        ControlOf("replication", "unclean election"),
    ),
    ChainLink(
        "one partition",
        "What is committed of a partition is a run of the durable partition that the transactions have.",
        _named(durable=("committed_prefix_is_durable", "each_batch_is_one_durable_step", "committed_prefix_stays")),
        _named(reading=("partition_steps_are_durable", "nothing_in_the_log_is_lost")),
        "spec.systems.links.is_durable_append",
        (assume.NOTHING_IS_LOST,),
        "with acks=all a client is answered, and a marker counts as written, once the batch is committed; the"
        " coordinator's log is such a partition, too; the transactions count batches where a log has offsets, which"
        " decide nothing (a fact for all inputs)",
        _step("durable", "unclean election", "committed_prefix_stays", "leader_fails_over"),
    ),
    ChainLink(
        "readers",
        "Below the last stable offset everything is decided, however a reader's bound is found.",
        _named(partition=("below_stable_is_decided", "what_was_read_stays_decided")),
        _named(reading=("below_stable_is_decided",)),
        "spec.protocol.lso.is_decided_below",
        (assume.READERS_KNOW_WHAT_IS_OPEN,),
        "that the list of aborted transactions has all that are aborted is a fact of the index, for all inputs"
        " (lso.aborted_index)",
        ControlOf("partition", "open transactions are ignored"),
    ),
    ChainLink(
        "other transactional ids",
        "No action of one id reads or writes a cell of another; what ids share may change at any time.",
        _named(frame=("ids_are_apart", "cells_of_others_stay", "cells_of_others_are_not_read")),
        _named(frame=("shared_cells_as_assumed",)),
        "spec.systems.transactions.clients.shared_cells",
        (assume.ONE_TRANSACTIONAL_ID,),
        "any number of ids together is one of them and the others, as each of them sees the others",
        _step(
            "frame", "a marker ends every transaction of its partition", "cells_of_others_stay", "leader_writes_marker"
        ),
    ),
    ChainLink(
        "completion",
        "A prepared transaction completes under fairness, so that it holds no reader back for ever.",
        _named(completion=("prepared_completes", "rank_never_rises", "marker_lowers_rank", "rank_is_finite")),
        NOTHING,
        "",
        (),
        "a set that loses a member has one member less; that transactions which stay open are aborted is searched",
        _step("completion", "KAFKA-19999: a repeated marker is refused", "marker_is_possible", PREPARED),
    ),
    ChainLink(
        "brokers",
        "Each step of the transactions is the one that recorded steps, of brokers and of traces, are judged by.",
        _named(transactions=("appends_as_judged", "marker_as_judged", "ends_as_judged", "completes_as_judged")),
        NOTHING,
        "",
        (),
        "that a broker does what was recorded of brokers of its release is evidence, and no proof",
        _step("transactions", "Complete is still pending", "completes_as_judged", "coordinator_completes"),
    ),
    ChainLink(
        "the theorem",
        "A batch that was acknowledged, of a transaction whose commit was, is in the log once, and read once in order.",
        _named(
            transactions=("batch_is_in_the_log_once", "client_was_reported_the_truth"),
            reading=("committed_is_read_once_in_order", "log_is_in_order", "given_once"),
        ),
        NOTHING,
        "",
        (),
        "what a reader is given it has read; which batch it is says the batch's number in its transaction",
        _step("reading", "a reader fetches what is behind it", "given_once", "reader_fetches"),
    ),
    ChainLink(
        "a group's reads",
        "What a member of a group is given is decided, as what any reader of committed data is given.",
        _named(reading=("below_stable_is_decided",)),
        _named(group=("read_is_decided_and_no_more",)),
        "spec.protocol.lso.is_decided_below",
        (),
        "a record of the group's partition is a batch, at the number that the readers count",
        ControlOf("group", "a member reads what is not decided"),
    ),
    ChainLink(
        "a group's commits",
        "Offsets are written while the generation that their commit names is the group's.",
        _named(transactions=("commit_is_of_its_generation",)),
        _named(group=("commit_is_of_its_generation_and_no_more",)),
        "spec.systems.links.is_of_its_generation",
        (),
        "the member of a generation is a transactional id that names it, and a run one of its transactions, whose"
        " requests act on no later one (txn.no_crosstalk); once its marker is there a later epoch is known, and no"
        " commit of it is let in; offsets without a transaction are held against the same generation (a fact for all"
        " inputs)",
        ControlOf("group", "a past generation commits"),
    ),
    ChainLink(
        "a group's next member",
        "No member begins while an offset is pending that may still become the group's.",
        _named(transactions=("stable_fetch_waits",)),
        _named(group=("begins_with_nothing_pending",)),
        "spec.systems.links.is_withheld",
        (),
        "an offset is pending for the producer whose batch it is, and the group's other producers are other"
        " transactional ids",
        ControlOf("group", "a member does not wait for a stable offset"),
    ),
    ChainLink(
        "a group's effects",
        "The marker that makes a transaction's offset the group's has the outcome of the transaction's outputs.",
        _named(transactions=("same_outcome_everywhere", "offsets_come_with_outputs", "outputs_come_with_offsets")),
        _named(group=("outcome_is_the_same_and_no_more",)),
        "spec.systems.links.outcomes_agree",
        (),
        "the effects of a record are the batches that a member wrote of it in its transaction",
        ControlOf("group", "offsets have another outcome than outputs"),
    ),
    ChainLink(
        "the group",
        "Each committed record has its effect once, in order, and has had it once the group's offset has passed it.",
        _named(group=("has_effect_once_in_order", "passed_had_its_effect", "offset_is_of_effects")),
        NOTHING,
        "",
        (),
        "what a member does outside its transactions it may do again, by the next member or after an abort: of a group"
        " that commits without transactions the theorem says that its commits cover each record once, and not that no"
        " record is processed again",
        ControlOf("group", "an earlier commit of a transaction comes last"),
    ),
)
"""Every link, from the producer id to the reader."""


def systems() -> tuple[str, ...]:
    """Names of the systems of the chain, each once."""
    sides = (side for link in LINKS for side in (link.shows, link.takes))
    return tuple(dict.fromkeys(name for side in sides for name in side))


def left(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Of these assumptions those that no link discharges, by number."""
    discharged = {assumption for link in LINKS for assumption in link.discharges}
    return in_order(each for each in assumptions if each not in discharged)
