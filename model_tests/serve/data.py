"""Where a server's data is: a directory that is given, or one of its own that goes with it."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.common.reports import BadInput
from reference.log.broker_directory import UnusableDirectory
from reference.server.service import ServerSettings, Service, Wall

PREFIX: Final = "eos-serve-"
"""Begins the name of a directory that goes with its server."""


@contextmanager
def temporary_unless(directory: Path | None) -> Iterator[Path]:
    """The directory that is given; a temporary one, removed in the end, if none is."""
    if directory is not None:
        yield directory
        return
    with TemporaryDirectory(prefix=PREFIX) as made:
        yield Path(made)


@contextmanager
def opened(settings: ServerSettings, wall: Wall, directory: Path | None, *, lasts: bool = True) -> Iterator[Service]:
    """The nodes, with what is left in their directory; it is closed cleanly unless something fails.

    Args:
        settings: how they behave.
        wall: the time.
        directory: for their data, which is in memory if it is not given.
        lasts: whether a later server may use the directory again.

    Raises:
        BadInput: no such nodes can start on the directory.
    """
    _allow_open_files()
    try:
        service = Service(settings, wall, directory)
    except UnusableDirectory as unusable:
        raise BadInput(str(unusable)) from unusable
    try:
        yield service
    except BaseException:
        service.crash()
        raise
    if lasts:
        service.close()
    else:
        service.crash()


def create_topics(service: Service, topics: dict[str, int]) -> None:
    """Make the topics that are not there yet, each with so many partitions.

    Raises:
        BadInput: one is there with another number of them.
    """
    for name, partitions in topics.items():
        found = service.topics.by_name.get(name)
        if found is None:
            service.create_topic(name, partitions)
        elif found.partitions != partitions:
            raise BadInput(f"topic {name} exists with {found.partitions} partitions, not {partitions}")


def recovery(service: Service) -> list[str]:
    """What was found in the directory and what had to be done for it, a line each; none where there was nothing."""
    directory = service.directory
    if directory is None or not directory.recovered:
        return []
    topics, stop = len(directory.topics), "clean stop" if directory.clean else "crash"
    done = [f"{folder}: {repair.kind} {repair.file} {repair.detail}" for folder, repair in directory.repairs()]
    return [f"recovered {directory.path} after a {stop}; topics: {topics}, repairs: {len(done)}", *done]


def _allow_open_files() -> None:
    """Each partition has three open files: as many as the system lets this process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
