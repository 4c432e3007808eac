"""Which logs are of one cluster: as they were given, as `meta.properties` names it, or all that nothing names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.logs.locations import Location, UnsupportedUrl, located, reason
from spec.vocabulary import ABSENT

META_PROPERTIES: Final = "meta.properties"
_CLUSTER: Final = "cluster.id="
_NODE: Final = ("node.id=", "broker.id=")


def cluster_of(path: str) -> str:
    """The id of the cluster that a partition's folder belongs to, by the file beside it; empty where none says it."""
    stated = (line.partition("=")[2].strip() for line in _lines(_beside(path)) if line.startswith(_CLUSTER))
    return next(stated, "")


def node_of(path: str) -> int:
    """The id of the broker that a folder is of, by the file beside it."""
    stated = (line.partition("=")[2].strip() for line in _lines(_beside(path)) if line.startswith(_NODE))
    return next((int(one) for one in stated if one.isdigit()), ABSENT)


def unread(paths: Iterable[str]) -> list[SegmentDamage]:
    """The files beside the folders that are there and cannot be read, so that whose the folders are is not known."""
    found = []
    for file in {str(one): one for one in map(_beside, paths)}.values():
        try:
            file.read_text()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            why = reason(error) if isinstance(error, OSError) else "not text"
            found.append(
                SegmentDamage(str(file), 0, f"cannot be read: {why}; whose cluster its folders are of is not known")
            )
    return found


def _beside(path: str) -> Location:
    return located(path).resolve().parent / META_PROPERTIES


def _lines(file: Location) -> list[str]:
    try:
        return file.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


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
    stated = [next((name for name, where in given if _is_under(path, where)), None) for path in paths]
    written = [None if name is not None else cluster_of(path) for name, path in zip(stated, paths, strict=True)]
    known = {one for one in (*stated, *written) if one}
    rest = next(iter(known)) if len(known) == 1 and not named else UNNAMED
    return [name or own or rest for name, own in zip(stated, written, strict=True)]


def _located(path: str) -> Location | None:
    try:
        return located(path).resolve()
    except (UnsupportedUrl, OSError):
        return None  # who lists its logs says so


def _is_under(path: str, where: Location) -> bool:
    place = _located(path)
    return place is not None and (str(place) == str(where) or str(place).startswith(f"{str(where).rstrip('/')}/"))
