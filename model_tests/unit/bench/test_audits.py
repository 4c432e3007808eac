from pathlib import Path

from model_tests.audit.checksums import ChecksumReader
from model_tests.audit.kafka_log import PLAN_OPTION, verdict_options
from model_tests.audit.options import DEFAULTS
from model_tests.audit.verdict_tasks import AuditPlan
from model_tests.bench.audits import sound_batches
from model_tests.bench.log_files import client_batches
from reference.log.disk_log import DiskLog

BATCHES = 50


def counted(directory: Path) -> int:
    """Batches that the tasks say are sound."""
    reader = ChecksumReader(verdict_options(AuditPlan(DEFAULTS, (str(directory),)))[PLAN_OPTION])
    return sum(part or 0 for task in reader.partitions() for _, _, part, _ in reader.read(task))


def test_checksums_alone_are_computed_of_every_batch(tmp_path: Path) -> None:
    """What the audit's time is compared with does look at the bytes: a batch with another bit does not count."""
    log = DiskLog.create(tmp_path / "t-0")
    log.append_all(list(client_batches(BATCHES)))
    log.close()
    sound = counted(tmp_path)
    assert sound == sound_batches(tmp_path)
    path = tmp_path / "t-0" / f"{0:020}.log"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    assert sound == BATCHES
    assert counted(tmp_path) == sound_batches(tmp_path) == BATCHES - 1
