"""Every row of the table of sources compared with the releases that it names, in clones of Kafka."""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spec.sources.table import REFS, SourceRow, Support, files, rows

KEYWORDS = "return|throw|else|new|case|if|while|for|try|catch|yield"


def bodies(text: str, name: str) -> Iterator[str]:
    """Every method of this name in a file, each with its body: overloads and nested ones too."""
    lines = text.splitlines()
    declares = _declaration(name)
    for at, line in enumerate(lines):
        if declares.search(line):
            yield "\n".join(lines[at : _end(lines, at)])


def _declaration(name: str) -> re.Pattern[str]:
    """A line that declares the method: `def name` in Scala; in Java a type before it, and no statement."""
    called = re.escape(name)
    scala = rf"\bdef {called}(?![\w])"
    java = rf"^ +(?!(?:{KEYWORDS})\b)(?:[\w<>\[\],.?@]+ )+{called}\((?!.*;\s*$)"
    constructor = (
        rf"^ +(?:public |private |protected )?{called}\((?!.*;\s*$)(?=.*[,{{(]\s*$|.*\)\s*\{{)"
        if name[0].isupper()
        else r"(?!)"
    )
    scala_class = rf"\b(?:class|object|trait) {called}(?![\w])"
    return re.compile(f"{scala}|{java}|{constructor}|{scala_class}")


def _end(lines: list[str], start: int) -> int:
    """The line after a method: it ends before the next line that is indented no further and closes nothing of it."""
    indent = _indent(lines[start])
    opened = False
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line.strip():
            continue
        if _indent(line) > indent:
            opened = True
            continue
        if line.strip().startswith(("}", ")", "{", "(", "throws", "extends", "with ")):
            if line.strip().rstrip(";") == "}" or (line.strip().startswith("}") and opened and line.strip()[-1] != "{"):
                return at + 1
            continue
        return at
    return len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


SPACES = re.compile(r"\s+")

EITHER = re.compile(r"(?<!\|)\|(?!\|)")
"""Between words of which one has to occur: `||` of a condition is no such."""


@dataclass(frozen=True, slots=True)
class UnsupportedRow:
    """A row that a release does not bear out.

    Attributes:
        row: of the table.
        release: name of the profile.
        why: what is not there, or is there and should not be.
    """

    row: SourceRow
    release: str
    why: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.row.place}: {self.release}: {self.why}"


@dataclass(slots=True)
class Clones:
    """Git directories of Kafka, tried in turn.

    Attributes:
        folders: where they are.
    """

    folders: Sequence[Path]
    _found: dict[str, tuple[Path, str] | None] = field(default_factory=dict)
    _read: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def has(self, release: str) -> bool:
        """Whether some clone has the release."""
        return self._where(release) is not None

    def text(self, release: str, path: str) -> str | None:
        """A file of a release; nothing where it has no such file."""
        key = (release, path)
        if key not in self._read:
            where = self._where(release)
            self._read[key] = None if where is None else _git(where[0], "show", f"{where[1]}:{path}")
        return self._read[key]

    def _where(self, release: str) -> tuple[Path, str] | None:
        if release not in self._found:
            self._found[release] = next(self._candidates(release), None)
        return self._found[release]

    def _candidates(self, release: str) -> Iterator[tuple[Path, str]]:
        for ref in REFS[release]:
            for folder in self.folders:
                for name in (f"refs/heads/{ref}", f"refs/remotes/origin/{ref}", f"refs/tags/{ref}", ref):
                    found = _git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
                    if found is not None:
                        yield folder, found.strip()


def _git(folder: Path, *command: str) -> str | None:
    request = subprocess.run(
        ["git", "-C", str(folder), *command], capture_output=True, check=False, text=True, errors="replace"
    )
    return request.stdout if request.returncode == 0 else None


def check(clones: Clones) -> Iterator[UnsupportedRow]:
    """Every row that some release does not bear out; rows without a place have nothing to be compared with."""
    for row in rows():
        if row.at:
            for profile in row.releases:
                if clones.has(profile.name):
                    yield from _check(row, profile.name, clones)


def unseen(clones: Clones) -> tuple[str, ...]:
    """Releases of which no clone has the source."""
    return tuple(release for release in REFS if not clones.has(release))


def counted() -> Mapping[Support, int]:
    """Rows by how they are known."""
    return {kind: sum(row.support is kind for row in rows()) for kind in Support}


def _check(row: SourceRow, release: str, clones: Clones) -> Iterator[UnsupportedRow]:
    path = files().get(row.holder, {}).get(release)
    text = None if path is None else clones.text(release, path)
    if text is None:
        yield UnsupportedRow(row, release, f"no file {path or row.holder}")
        return
    found = list(bodies(text, row.method)) if row.method else [text]
    if not found:
        yield UnsupportedRow(row, release, f"no method {row.method} in {path}")
    elif not any(says(body, row) for body in found):
        yield UnsupportedRow(row, release, f"{row.at} does not say {', '.join(row.says)}")
    for word in row.lacks:
        if any(_flat(word) in _flat(body) for body in found):
            yield UnsupportedRow(row, release, f"{row.at} says {word}")


def says(body: str, row: SourceRow) -> bool:
    """Whether the words of a row occur in a method one after the other; spaces do not count."""
    flat, at = _flat(body), 0
    for words in row.says:
        ends = [found + len(word) for word in map(_flat, EITHER.split(words)) if (found := flat.find(word, at)) >= 0]
        if not ends:
            return False
        at = min(ends)
    return True


def _flat(text: str) -> str:
    return SPACES.sub("", text)
