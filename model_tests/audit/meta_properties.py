"""What a broker's directory has about itself: `meta.properties`, beside the folders of partitions."""

from collections.abc import Iterable
from typing import Final

from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.logs.locations import Location, located, reason
from spec.vocabulary import ABSENT

META_PROPERTIES: Final = "meta.properties"
_CLUSTER: Final = "cluster.id="
_NODE: Final = ("node.id=", "broker.id=")


def cluster_of(path: str) -> str:
    """The id of the cluster that a partition's folder belongs to, by the file beside it; empty where none says it."""
    said = (line.partition("=")[2].strip() for line in _lines(_beside(path)) if line.startswith(_CLUSTER))
    return next(said, "")


def node_of(path: str) -> int:
    """The id of the broker that a folder is of, by the file beside it."""
    said = (line.partition("=")[2].strip() for line in _lines(_beside(path)) if line.startswith(_NODE))
    return next((int(one) for one in said if one.isdigit()), ABSENT)


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
