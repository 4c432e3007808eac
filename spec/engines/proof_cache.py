"""Answers that are kept: by the content of the question, the solver's release and its settings.

A proof is kept with the hypotheses in its contradiction, and stands as long as these are still among those that are
given: a changed lemma has those obligations solved again that are of it or rest on it. What was not proved
is kept for exactly the same hypotheses.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import z3

from spec.algebra import Term
from spec.engines.solving import Answer, SolverSettings
from spec.engines.verdict import Proved, Refuted, Unknown

FORM: Final = 1
"""Raised when answers that were kept before are no longer understood."""

Entries = dict[str, dict[str, Any]]


class Digests:
    """The content of terms as short text, each worked out once; names alone say nothing of sorts, which come first."""

    def __init__(self, sorts: str) -> None:
        self._sorts = sorts
        self._known: dict[int, tuple[Term, str]] = {}

    def of(self, term: Term) -> str:
        """The content of one term."""
        if not z3.is_expr(term):
            return digest((repr(term),))
        if term.get_id() not in self._known:
            self._known[term.get_id()] = term, digest((self._sorts, term.sexpr()))
        return self._known[term.get_id()][1]


def digest(parts: Iterable[str]) -> str:
    """Some texts as one short text."""
    together = sha256()
    for part in parts:
        together.update(part.encode() + b"\0")
    return together.hexdigest()[:32]


def key_of(claim: str, facts: Iterable[str], settings: SolverSettings) -> str:
    """The key of a question without its hypotheses."""
    effort = {"seed": settings.seed, "few": settings.few, "many": settings.many}
    how = (z3.get_full_version(), json.dumps(effort, sort_keys=True))
    return digest((*how, claim, *facts))


class ProofCache:
    """Answers by key."""

    def __init__(self, entries: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._entries: Entries = {key: dict(entry) for key, entry in (entries or {}).items()}
        self._used: Entries = {}

    def __bool__(self) -> bool:
        """An empty one is one to be filled."""
        return True

    def find(self, key: str, given: Mapping[str, str]) -> Answer | None:
        """The answer to a question under hypotheses, each by name and content; `None` if it has to be solved."""
        entry = self._entries.get(key)
        if entry is None or not _stands(entry, given):
            return None
        self._used[key] = entry
        names = {content: name for name, content in given.items()}
        match entry["verdict"]:
            case "proved":
                return Answer(Proved(), frozenset(names[content] for content in entry["needed"]))
            case "refuted":
                return Answer(Refuted(entry["said"], ()))
            case _:
                return Answer(Unknown(entry["said"]))

    def keep(self, key: str, given: Mapping[str, str], answer: Answer) -> None:
        """Keep an answer; a later one under the same key takes its place."""
        entry: dict[str, Any]
        match answer.verdict:
            case Refuted(claim):
                entry = {"verdict": "refuted", "said": claim, "among": digest(sorted(given.values()))}
            case Unknown(reason):
                entry = {"verdict": "unknown", "said": reason, "among": digest(sorted(given.values()))}
            case _:
                entry = {"verdict": "proved", "needed": sorted(given[name] for name in answer.needed)}
        self._entries[key] = self._used[key] = entry

    def taken(self) -> Entries:
        """What was found or kept since it was last asked for, as plain values."""
        used, self._used = self._used, {}
        return used


def _stands(entry: Mapping[str, Any], given: Mapping[str, str]) -> bool:
    if entry["verdict"] == "proved":
        return set(entry["needed"]) <= set(given.values())
    return bool(entry["among"] == digest(sorted(given.values())))


def read(file: Path) -> tuple[Entries, str]:
    """What a file keeps; where it cannot be used, nothing, and a line that says so."""
    if not file.exists():
        return {}, ""
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
        entries = written["answers"]
        if written["form"] != FORM or written["digest"] != _digest_of(entries):
            raise ValueError("its content is not what was written")
    except (ValueError, KeyError, TypeError, OSError) as damage:
        return {}, f"{file} is damaged and is ignored, every obligation is solved again: {_one_line(damage)}"
    return entries, ""


def write(file: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep these answers in a file, at once or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    written = {"form": FORM, "digest": _digest_of(entries), "answers": entries}
    beside = file.with_suffix(".new")
    beside.write_text(json.dumps(written), encoding="utf-8")
    beside.replace(file)


def _digest_of(entries: Any) -> str:
    return digest((json.dumps(entries, sort_keys=True),))


def _one_line(damage: Exception) -> str:
    return " ".join(f"{type(damage).__name__} {damage}".split())
