"""Logs as stories: a text from which the logs of a broker are written."""

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from model_tests.unit.audit.written_cluster import ABORT, COMMIT, Name, WrittenCluster
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.transaction_record import by_topic
from reference.log.batch import blank_batch, marker_batch
from spec.vocabulary import Epoch, TransactionState

OFFSETS: Final = "__consumer_offsets"
OUTCOMES: Final = MappingProxyType({"commit": COMMIT, "abort": ABORT})
BEGUN: Final = "init tx 7; txn a b c; txn a b c abort;"
"""A producer that has done two transactions over three partitions already."""


def cluster_of(story: str, version: int = 0) -> WrittenCluster:
    """The logs that a story writes."""
    return StoryWriter(WrittenCluster(version)).write(story)


class StoryWriter:
    """Writes logs from a text: steps between semicolons, each a verb and its words; `other: ...` is another id's step.

    The id is `tx` where none is named; partitions are a, b, c and `offsets`; a step has no effect on other logs.

        init ID PRODUCER [epoch=N]   InitProducerId; without a producer, the next epoch of the one it has
        add P...                     AddPartitionsToTxn
        send P... [xN] [epoch=E]     a batch of N records to each
        prepare OUTCOME [fenced]     EndTxn, or with `fenced` the coordinator's own abort
        mark P... [OUTCOME] [epoch=E]
        complete | again             all markers are written; the Complete record once more
        txn P... [OUTCOME] [fenced]  a whole transaction
        record STATE [epoch=N] [P...]  a record of another state; the partitions, where named, are all it has
        tombstone | value HEX        a record without a value, or with these bytes
        foreign P PRODUCER OUTCOME   a marker of another producer id
        blank P...                   a batch of no producer
        ids COUNT                    as many ids more, which hash to all partitions of the coordinator's log
        wait MS | hour | minutes N   time passes
        note NAME                    the id's epoch, for `epoch=NAME`
        copied [P...]                the copy of these logs, or of the coordinator's, ends here
        clock NAME | clock =NAME     the time is noted, or set
        upgrade N                    from here on the coordinator has another version
    """

    def __init__(self, cluster: WrittenCluster) -> None:
        self.cluster = cluster
        self.notes: dict[str, int] = {}
        self.ends: dict[Name | None, int] = {}

    def write(self, story: str) -> WrittenCluster:
        """Write all steps; then cut the logs that were copied earlier."""
        for step in filter(None, (each.strip() for each in story.split(";"))):
            who, colon, rest = step.partition(": ")
            verb, *words = (rest if colon else step).split()
            self._step(verb, who if colon else "tx", words)
        for name, end in self.ends.items():
            del (self.cluster.coordinator if name is None else self.cluster.logs.setdefault(name, []))[end:]
        return self.cluster

    def _step(self, verb: str, who: str, words: list[str]) -> None:
        cluster = self.cluster
        outcome = next((OUTCOMES[word] for word in words if word in OUTCOMES), None)
        kind = COMMIT if outcome is None else outcome
        places = [_place(word) for word in words if word in ("a", "b", "c", "offsets")]
        epoch = next((self._epoch(who, word[6:]) for word in words if word.startswith("epoch=")), None)
        fenced = "fenced" in words
        match verb:
            case "init":
                self._init(*words[:2], epoch=epoch)
            case "add":
                cluster.add(who, *places)
            case "send":
                records = next((int(word[1:]) for word in words if word.startswith("x")), 1)
                for place in places:
                    cluster.send(who, place, records, epoch=epoch)
            case "prepare":
                cluster.prepare(who, kind, fenced=fenced)
            case "mark":
                cluster.mark(who, *places, outcome=outcome, epoch=epoch)
            case "complete":
                cluster.complete(who)
            case "again":
                cluster.complete_again(who)
            case "txn":
                cluster.transaction(who, places, kind, fenced=fenced)
            case "record":
                value = replace(cluster.values[who], status=int(TransactionState[words[0].upper()]))
                value = value if epoch is None else replace(value, epoch=Epoch(epoch))
                only = by_topic({TopicPartition(*place) for place in places})
                cluster.record(who, replace(value, partitions=only) if places else value)
            case "tombstone":
                cluster.record(who, None)
            case "value":
                cluster.record(who, None, content=bytes.fromhex(words[0]))
            case "foreign":
                cluster.logs[places[0]].append(marker_batch(int(words[1]), 0, kind, 0, cluster.now))
            case "blank":
                for place in places:
                    cluster.logs.setdefault(place, []).append(blank_batch(1, timestamp=cluster.now))
            case "ids":
                for number in range(int(words[0])):
                    cluster.init(f"id-{number}", 100 + number)
            case _:
                self._aside(verb, who, words, places)

    def _aside(self, verb: str, who: str, words: list[str], places: list[Name]) -> None:
        """What no broker writes: time, notes, and where copies end."""
        cluster = self.cluster
        match verb:
            case "wait":
                cluster.now += int(words[0])
            case "minutes":
                cluster.now += 60_000 * int(words[0])
            case "hour":
                cluster.now += 3_600_000
            case "note":
                self.notes[words[0]] = cluster.values[who].epoch
            case "clock" if words[0].startswith("="):
                cluster.now = self.notes[words[0][1:]]
            case "clock":
                self.notes[words[0]] = cluster.now
            case "copied":
                self.ends |= {place: len(cluster.logs.get(place, ())) for place in places}
                self.ends |= {} if places else {None: len(cluster.coordinator)}
            case "upgrade":
                cluster.version = int(words[0])
            case _:
                raise ValueError(verb)

    def _init(self, who: str, producer: str = "", *, epoch: int | None) -> None:
        known = self.cluster.values.get(who)
        if producer.isdigit():
            self.cluster.init(who, int(producer), epoch or 0)
        elif known is not None:
            self.cluster.init(who, known.producer_id, known.epoch + 1)

    def _epoch(self, who: str, text: str) -> int:
        if text.startswith(("+", "-")):
            return self.cluster.values[who].epoch + int(text)
        return int(text) if text.isdigit() else self.notes[text]


def _place(word: str) -> Name:
    return (OFFSETS if word == "offsets" else word, 0)
