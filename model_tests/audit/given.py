"""What each path on the command line was taken for: nothing that was given is passed over in silence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_NAMED: Final = 4
"""Partitions that are named; of more, their number is said."""


@dataclass(frozen=True, slots=True)
class GivenPath:
    """A path, whether anything of it was judged, and what it was taken for or why it was not used."""

    path: str
    used: bool
    taken_for: str

    def in_one_line(self) -> str:
        """For people."""
        line = f"{'given' if self.used else 'not used'}: {self.path}: {self.taken_for}"
        return line.replace("\n", "\\n")


def given_paths(
    paths: Iterable[str], judged: Iterable[tuple[str, str]], reasons: Sequence[tuple[str, str]]
) -> tuple[GivenPath, ...]:
    """Each path with what was judged of it.

    Args:
        paths: as they were given.
        judged: path and name of each partition.
        reasons: a path, and why it, or something in it, could not be used.
    """
    names = list(judged)
    return tuple(_given(_reported(path), names, reasons) for path in paths)


def _reported(path: str) -> str:
    """A path as reports have it: of a URL without what comes after the question mark."""
    return path.partition("?")[0] if "://" in path else path


def _given(path: str, judged: Sequence[tuple[str, str]], reasons: Sequence[tuple[str, str]]) -> GivenPath:
    own = list(dict.fromkeys(name for at, name in judged if _is_of(at, path)))
    if own:
        more = f" and {len(own) - _NAMED} more" if len(own) > _NAMED else ""
        kind = "the log of" if len(own) == 1 else f"the logs of {len(own)} partitions:"
        return GivenPath(path, True, f"{kind} {', '.join(own[:_NAMED])}{more}")
    why = next((reason for at, reason in reasons if at == path), "")
    inside = next((f"{at}: {reason}" for at, reason in reasons if _is_of(at, path)), "")
    return GivenPath(path, False, why or inside or "no log, and nothing that was printed of one, is in it")


def _is_of(at: str, path: str) -> bool:
    """Whether something lies at a path, or in it: in its folder, or in its archive."""
    own = path.rstrip("/")
    return at == path or path in (".", "./") or at.startswith((f"{own}/", f"{own}:"))
