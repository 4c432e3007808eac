"""Why a part of a text is not known, and what that costs."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from spec.vocabulary import ABSENT

_WHOLE: Final = "give all that kafka-dump-log prints"
_DEEP: Final = "dump with --deep-iteration or --print-data-log"
_NOT_SEEN: Final = "their transactions, and what readers see from there on, are not judged"


class Why(NamedTuple):
    """Why a part is not known, without figures, so that parts alike can be counted.

    Attributes:
        words: why.
        costs: what is not judged, and what to give instead.
        damage: the tool itself reports it, or the text is damaged; else it is not in the text.
    """

    words: str
    costs: str = ""
    damage: bool = False


LEFT_OUT: Final = Why("batches are not in the text", f"sequences and transactions are not judged across them; {_WHOLE}")
ELIDED: Final = Why("fields of a batch are left out", "it is not judged; give whole lines")
ENDS: Final = Why("the text ends inside a batch", f"what follows is not judged; {_WHOLE}")
INVALID: Final = Why("kafka-dump-log calls a batch invalid", damage=True)
NO_OUTCOME: Final = Why("control batches without their outcome", f"{_NOT_SEEN}; {_DEEP}")
NO_METADATA: Final = Why(
    "--skip-record-metadata left out the outcome of control batches", f"{_NOT_SEEN}; dump without that option"
)
NOT_NAMED: Final = Why(
    "no line names the dumped file", "nothing of it is judged; name the text like its partition (orders-3.txt)"
)
NO_BATCH: Final = Why("no batch of a segment was printed", f"it is empty, or not all was given; {_WHOLE}")
NO_SEGMENT: Final = Why(
    "no segment (.log), and no record of internal topics, is in it",
    f"nothing can be judged; {_DEEP}, the .log among --files",
)
UNDECODED_STATES: Final = Why(
    "states of transactional ids cannot be read: broken, or printed without --transaction-log-decoder",
    "what became of transactions is not compared with them; dump with --transaction-log-decoder",
)
UNDECODED_OFFSETS: Final = Why(
    "offsets of groups cannot be read: broken, or printed without --offsets-decoder",
    "which offsets groups committed is not known; dump with --offsets-decoder",
)
TWICE: Final = Why(
    "a segment was dumped twice, with other batches",
    "only the first is judged; name each text like its partition (orders-3.txt), or give it a directory",
)


def formatted(partition: str, *, states: bool) -> Why:
    """Records of an internal topic, states or offsets, that a consumer printed."""
    and_of = "" if states else ", and which of them a transaction had"
    return Why(
        f"a consumer printed {partition}",
        "batches, what was before, and offsets of its records, unless by kcl, are not known, and its number is that of "
        f"the usual 50 partitions{and_of}; dump it with --{'transaction-log' if states else 'offsets'}-decoder",
    )


@dataclass(frozen=True, slots=True)
class UnreadPart:
    """A part that is not known, and why.

    Attributes:
        which: the figures.
        first: the first offset that it may have had; -1 where that is not known.
        last: the last one, likewise. Where neither is known, it has none.
    """

    line: int
    why: Why
    which: str = ""
    first: int = ABSENT
    last: int = ABSENT
