"""Texts of Kafka's tools among the paths of an audit: found, read, and put where logs are.

Texts that lie in one directory are of one broker; a partition that is there twice, with other batches, is of another.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.logs.dump_grammar import DumpLine, Layout, entries
from model_tests.logs.dump_segments import SegmentOfText, TextReader
from model_tests.logs.kafka_log_folders import is_of_kafka
from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.logs.locations import reason
from model_tests.logs.other_texts import CONSUMED, HISTORY, use_of
from model_tests.logs.text_files import lines_of
from model_tests.logs.unpacking import UNREADABLE, TextFile, in_base64, texts_at
from model_tests.logs.unread import NO_SEGMENT, TWICE, UnreadPart

DUMPED: Final = (
    "Of dumped logs a batch's CRC is right where kafka-dump-log says so; records of internal topics are known as far "
    "as a decoder printed them."
)
_ELSEWHERE: Final = {DumpLine.CONSUMED: CONSUMED, DumpLine.HISTORY: HISTORY}

_BROKERS: Final = 8
"""Replicas of a partition that may lie in one directory."""


class Restored:
    """Texts among the paths of an audit, which are read, one after the other, into folders of brokers.

    Attributes:
        paths: what to audit: the given paths, and in place of texts the folders made of them.
        made: the segments that were made.
        damage: what a tool reports of a log, and what of a text cannot be read.
        missing: what is not in the texts, and what that costs.
        ignored: what of them is of no use.
    """

    def __init__(self, into: Path) -> None:
        self.paths: list[str] = []
        self.made: dict[Path, SegmentOfText] = {}
        self.damage: list[SegmentDamage] = []
        self.missing: list[SegmentDamage] = []
        self.ignored: list[str] = []
        self._into = into
        self._seen: set[str] = set()
        self._brokers: dict[tuple[Path, int], Path] = {}

    @cached_property
    def dumps(self) -> Mapping[str, str]:
        """The text of each segment that was made."""
        return {str(path): made.text for path, made in self.made.items()}

    @cached_property
    def holes(self) -> Collection[tuple[str, int]]:
        """Segments and positions in them at which a text lacks something."""
        return {(str(path), hole) for path, made in self.made.items() for hole in made.holes}

    @cached_property
    def unknown(self) -> Mapping[str, int]:
        """By the folder of a partition, the last offset that its text lacks."""
        return {str(path.parent): made.unknown for path, made in sorted(self.made.items()) if made.unknown >= 0}

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is taken for granted where texts stand for logs."""
        return (DUMPED,) if self.made else ()

    def reported(self, path: str) -> str:
        """A path as the user knows it: of a segment that was made, or of its folder, the text's."""
        inside = (dump for made, dump in self.dumps.items() if made == path or made.startswith(path + os.sep))
        return next(inside, path)

    def compare_alike(self) -> None:
        """Leave out what was printed of some replicas alone; add the brokers to what is to be audited."""
        self.paths.extend(map(str, self._brokers.values()))
        made = self.made.values()
        for partition in {each.partition for each in made}:
            replicas = [each for each in made if each.partition == partition]
            if len(set().union(*(each.forms for each in replicas))) > 1:
                for each in replicas:
                    each.forget_printed()

    def give(self, given: str) -> None:
        """Read the texts that a path stands for; it stays a path where it stands for anything else."""
        path = Path(given)
        files, others = _files_at(path)
        read = [self._file(file) for file in files]
        if others or not any(read):
            self.paths.append(given)
        else:
            unread = (file for file, known in zip(files, read, strict=True) if not known)
            self.ignored.extend(f"{file}: no text of Kafka's tools" for file in unread)

    def _file(self, path: Path) -> bool:
        """Read a file, or what is in an archive; whether it is a text of Kafka's tools."""
        if str(path) in self._seen:
            return True
        try:
            known = [self._text(text) for text in texts_at(path)]
        except OSError:
            return False
        if any(known):
            self._seen.add(str(path))
        return any(known)

    def _unreadable(self, label: str, error: Exception) -> bool:
        self.damage.append(SegmentDamage(label, 0, f"cannot be read: {reason(error)}"))
        return True

    def _text(self, text: TextFile) -> bool:
        try:
            layout = Layout(_readable(text))
            words = "" if layout.known else use_of(text)
            encoded = [] if layout.known or words else in_base64(text)
        except UNREADABLE as error:
            return text.packed and self._unreadable(text.label, error)
        if not layout.known:
            self.ignored.extend(f"{text.path}: {each}" for each in filter(None, [words]))
            return any([bool(words), *map(self._text, encoded)])
        reader = TextReader(text, self._into / "read" / str(len(self._seen)) / str(len(self.made)))
        try:
            reader.read(entries(lines_of(text), layout))
        except UNREADABLE as error:
            self._unreadable(text.label, error)
        elsewhere = [words for kind, words in _ELSEWHERE.items() if reader.kinds == {kind}]
        if not (reader.segments or reader.unread or elsewhere or DumpLine.TABLE in reader.kinds):
            reader.unread += reader.empty or [UnreadPart(1, NO_SEGMENT)]
        for segment in reader.segments:
            self._place(text, segment, reader.unread)
        self._report(text.label, reader.unread)
        self.ignored.extend(f"{text.label}: {each}" for each in (*elsewhere, *reader.passed_over))
        return True

    def _place(self, text: TextFile, segment: SegmentOfText, unread: list[UnreadPart]) -> None:
        """Move a segment into a broker's folder, the first that has none of it or its beginning."""
        for number in range(_BROKERS if segment.certain else 1):
            broker = self._brokers.setdefault((text.folder, number), self._into / f"{len(self._brokers)}")
            target = broker / str(segment.partition) / f"{segment.base:020d}.log"
            longer = _longer(segment.path, target) if target.exists() else segment.path
            if longer is None:
                continue
            if longer == segment.path:
                target.parent.mkdir(parents=True, exist_ok=True)
                self.made[target] = segment
                segment.path = segment.path.replace(target)
            return
        unread.append(UnreadPart(segment.line, TWICE, str(segment.partition)))

    def _report(self, label: str, unread: Sequence[UnreadPart]) -> None:
        """Each kind of unread part once."""
        for why in dict.fromkeys(one.why for one in unread):
            first, *others = (one for one in unread if one.why == why)
            more = f", and {len(others)} more" if others else ""
            which = f" ({first.which}{more})" if first.which else more
            costs = f": {why.costs}" if why.costs else ""
            found = SegmentDamage(label, first.line, f"line {first.line}: {why.words}{which}{costs}")
            (self.damage if why.damage else self.missing).append(found)


@contextmanager
def restored(paths: Iterable[str]) -> Iterator[Restored]:
    """The paths, with every text among them made into segments, which are gone afterwards."""
    with TemporaryDirectory(prefix="eos-texts-") as folder:
        texts = Restored(Path(folder))
        for given in paths:
            texts.give(given)
        texts.compare_alike()
        yield texts


def _readable(text: TextFile) -> Iterator[str]:
    """The lines of a text up to where it breaks off."""
    with suppress(*UNREADABLE):
        yield from lines_of(text)


def _files_at(path: Path) -> tuple[list[Path], bool]:
    """The files that may be texts, and whether there is anything else: logs, or nothing that can be listed."""
    if path.is_file():
        return ([], True) if is_of_kafka(path.name) else ([path], False)
    files: list[Path] = []
    others = not path.is_dir()
    for folder, folders, names in os.walk(path, onerror=lambda _: None):
        if any(re.fullmatch(r"\d{20}\.log", name) for name in names):
            folders.clear()
            others = True
            continue
        folders.sort()
        files += [
            Path(folder, name) for name in sorted(names) if not is_of_kafka(name) and Path(folder, name).is_file()
        ]
    return files, others


def _longer(new: Path, old: Path) -> Path | None:
    """Of two segments, one of which begins like the other, the longer one; None where they differ."""
    one, other = new.read_bytes(), old.read_bytes()
    if other.startswith(one):
        return old
    return new if one.startswith(other) else None
