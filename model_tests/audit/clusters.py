"""Which logs are of one cluster: those of brokers that name it, those that were given as its, and those of nobody."""

from collections.abc import Mapping, Sequence
from typing import Final

from model_tests.audit.meta_properties import cluster_of
from model_tests.logs.locations import Location, UnsupportedUrl, located

UNNAMED: Final = ""
"""The cluster of all logs of which nothing says whose they are."""


def clusters_of(paths: Sequence[str], named: Mapping[str, Sequence[str]]) -> list[str]:
    """The cluster of each log.

    A log is of the cluster that it was given as; else of the one that its broker's `meta.properties` names. Logs of
    which neither is known are of one cluster: of that of the others, where these are all of one, since nothing names
    a second.

    Args:
        paths: folders of the logs, as they were given.
        named: paths by the name of their cluster.
    """
    given = [(name, where) for name, own in named.items() for path in own if (where := _located(path)) is not None]
    said = [next((name for name, where in given if _is_under(path, where)), None) for path in paths]
    written = [None if name is not None else cluster_of(path) for name, path in zip(said, paths, strict=True)]
    known = {one for one in (*said, *written) if one}
    rest = next(iter(known)) if len(known) == 1 and not named else UNNAMED
    return [name or own or rest for name, own in zip(said, written, strict=True)]


def _located(path: str) -> Location | None:
    try:
        return located(path).resolve()
    except (UnsupportedUrl, OSError):
        return None  # who lists its logs says so


def _is_under(path: str, where: Location) -> bool:
    place = _located(path)
    return place is not None and (str(place) == str(where) or str(place).startswith(f"{str(where).rstrip('/')}/"))
