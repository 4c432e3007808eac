"""The audit of one log: its segments read one at a time, its derived files, and the verdict on both. No Spark."""

from model_tests.traces.audit_cluster_log import with_cluster
from model_tests.traces.audit_findings import Verdict
from model_tests.traces.audit_history_log import NOBODY, ClientSide, with_client
from model_tests.traces.audit_holes import Surroundings
from model_tests.traces.audit_indexes import judge_indexes
from model_tests.traces.audit_partition import audit_batches
from model_tests.traces.audit_transactions_log import with_transactions
from model_tests.traces.kafka_log_batches import Batches, joined
from model_tests.traces.kafka_log_derived import read_derived
from model_tests.traces.kafka_log_folders import LogFolder
from model_tests.traces.kafka_log_read import Damage, read_checked
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

DAY_MS = 24 * 3600 * 1000


def audit_log(
    log: LogFolder,
    around: Surroundings,
    profile: Profile = NEWEST,
    *,
    crc: bool = True,
    client: ClientSide = NOBODY,
) -> tuple[Verdict, list[Damage]]:
    """Judge one partition, and name what is damaged in its files; `client` is what clients know of it."""
    batches, damage = read_log(log, crc=crc)
    derived = read_derived(log)
    verdict = audit_batches(batches, around, profile, derived=derived)
    damage += [] if verdict.cleaned else _emptied(log)
    damage += [*derived.damage, *judge_indexes(batches, log.segments, derived, damage, around.log_start)]
    verdict = with_transactions(log, batches, around, verdict, damage)
    verdict = with_cluster(log, batches, verdict, damage, derived.epochs, profile)
    return with_client(batches, verdict, client), damage


def read_log(log: LogFolder, *, crc: bool = True) -> tuple[Batches, list[Damage]]:
    """The batches of all segments, and what cannot be read of them."""
    parts: list[Batches] = []
    damage: list[Damage] = []
    carried = False
    for segment in log.segments:
        batches, bad = read_checked(segment, crc=crc)
        if len(batches):
            batches.follows_damage[0] |= carried
        last = int(batches.position[-1]) if len(batches) else -1
        carried = any(one.position > last for one in bad) or (carried and not len(batches))
        parts.append(batches)
        damage += bad
    return joined(parts), damage


def surroundings(
    log: LogFolder, *, checkpointed_watermark: bool = False, producer_expiry_ms: int = DAY_MS
) -> Surroundings:
    """What is known of a log besides its batches."""
    return Surroundings(
        first_base=log.segments[0].base,
        active_base=log.segments[-1].base,
        log_start=log.checkpointed_start,
        high_watermark=log.checkpointed_watermark if checkpointed_watermark else ABSENT,
        recovery_point=log.recovery_point if log.segments[-1].active else ABSENT,
        cleaned_to=log.cleaned_to,
        cleaner_known=log.cleaner_known,
        by_coordinator=log.by_coordinator,
        producer_expiry_ms=producer_expiry_ms,
    )


def _emptied(log: LogFolder) -> list[Damage]:
    """Segments without a byte that are not the last one; only the cleaner leaves such."""
    return [
        Damage(segment.path, 0, "empty, but not the last segment")
        for segment in log.segments
        if segment.base in log.empty and not segment.active
    ]
