"""The options of an audit, from the command line to the tasks that read the logs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

from model_tests.common.command_options import offered
from model_tests.common.reports import BadInput
from model_tests.histories.form import Form, form_called
from spec.versions import NEWEST, PROFILES, Profile
from spec.vocabulary import ABSENT

DAY_MS: Final = 24 * 3600 * 1000
"""Kafka's default of `producer.id.expiration.ms`."""

READ_COMMITTED: Final = "read_committed"
READ_UNCOMMITTED: Final = "read_uncommitted"

CHANGES_VERDICTS: Final = "changes_verdicts"
NO_VERDICT: Final[dict[str, object]] = {CHANGES_VERDICTS: False}
"""Marks an option on which no verdict on a log depends: results that are kept are the same with it and without."""


def release_called(name: str) -> Profile:
    """The profile of a release.

    Raises:
        BadInput: there is none of this name.
    """
    if name not in PROFILES:
        raise BadInput(f"no Kafka version {name!r}; known are {', '.join(PROFILES)}")
    return PROFILES[name]


def is_read_committed(level: str) -> bool:
    """Whether an isolation level is read_committed.

    Raises:
        BadInput: there is no such level.
    """
    if level not in (READ_COMMITTED, READ_UNCOMMITTED):
        raise BadInput(f"--history-isolation is {READ_COMMITTED} or {READ_UNCOMMITTED}, not {level!r}")
    return level == READ_COMMITTED


def named_clusters(given: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The paths of each cluster, by options of the form NAME=PATH.

    Raises:
        BadInput: an option has another form.
    """
    found: dict[str, tuple[str, ...]] = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not (name and equals and path):
            raise BadInput(f"--cluster takes NAME=PATH, once for each path of the cluster; not {one!r}")
        found[name] = (*found.get(name, ()), path)
    return found


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """How logs are audited, and which findings are reported. Everything is judged, whatever is reported.

    Attributes:
        master: where Spark runs. By default, small logs are read in this process.
        crc: check each batch's CRC-32C.
        deep: decode every batch's body, too, and compare its records with its header.
        checkpointed_watermark: take the high watermark from the broker's checkpoint.
        producer_expiry_ms: the brokers' producer.id.expiration.ms.
        profile: the release whose decisions judge; the newest by default.
        transactions: list every transaction, not only those open or in doubt.
        transactional_id: list the transactions of this transactional id, and only those.
        topics: only this topic, partition or pattern; may be repeated.
        producer_id: only what is found about this producer.
        since: only findings and transactions from then on: ISO 8601, or milliseconds.
        until: only those up to then. The whole log is judged all the same.
        history: client histories: a journal, Jepsen's EDN, rows of a trace, or what Kafka's system tests print (a file,
            or a directory of them; also .gz, .xz).
        history_form: format of the history: journal, edn, tools or trace; detected by default.
        read_committed: isolation level of the history's readers: read_committed or read_uncommitted.
        received: what a read_committed reader received: lines of JSON, or of the console consumer.
        work: keep the results of each log there; a stopped audit resumes from them.
        clusters: audit PATH, too, as part of the cluster NAME; repeat for each of its paths. Other directories without
            meta.properties count as one cluster.
        pictured: keep what a page draws of each log.
    """

    master: str = field(default="", metadata=offered() | NO_VERDICT)
    crc: bool = field(default=True, metadata=offered("--crc/--no-crc"))
    deep: bool = field(default=False, metadata=offered())
    checkpointed_watermark: bool = field(default=False, metadata=offered("--high-watermark-checkpoint"))
    producer_expiry_ms: int = field(default=DAY_MS, metadata=offered(metavar="MS", least=1))
    profile: Profile = field(default=NEWEST, metadata=offered("--kafka", "VERSION", read=release_called))
    transactions: bool = field(default=False, metadata=offered() | NO_VERDICT)
    transactional_id: str = field(default="", metadata=offered(metavar="ID") | NO_VERDICT)
    topics: tuple[str, ...] = field(default=(), metadata=offered("--topic", "NAME", repeated=True) | NO_VERDICT)
    producer_id: int = field(default=ABSENT, metadata=offered(metavar="ID", least=0) | NO_VERDICT)
    since: str = field(default="", metadata=offered(metavar="TIME") | NO_VERDICT)
    until: str = field(default="", metadata=offered(metavar="TIME") | NO_VERDICT)
    history: str = field(default="", metadata=offered(metavar="FILE"))
    history_form: Form | None = field(default=None, metadata=offered("--history-format", "FORMAT", read=form_called))
    read_committed: bool = field(
        default=True,
        metadata=offered("--history-isolation", "LEVEL", default=READ_COMMITTED, read=is_read_committed) | NO_VERDICT,
    )
    received: str = field(default="", metadata=offered(metavar="FILE"))
    work: Path | None = field(default=None, metadata=offered(metavar="DIR") | NO_VERDICT)
    clusters: Mapping[str, Sequence[str]] = field(
        default_factory=dict,
        metadata=offered("--cluster", "NAME=PATH", read=named_clusters, repeated=True) | NO_VERDICT,
    )
    pictured: bool = field(default=False, metadata=NO_VERDICT)

    def of_verdicts(self) -> "AuditOptions":
        """The same with the default of every option on which no verdict on a log depends."""
        changing = [one.name for one in fields(self) if one.metadata.get(CHANGES_VERDICTS, True)]
        return AuditOptions(**{name: getattr(self, name) for name in changing})


DEFAULTS: Final = AuditOptions()
