"""Steps of brokers and controllers, as the storyboard draws them."""

from typing import Final

from model_tests.diagrams.events import Mark
from model_tests.scenarios.producer_stage import broker, values_of
from model_tests.scenarios.storyboard import Storyboard
from reference.log.partition_log import PartitionLog
from reference.recording.recorder import Row
from spec.vocabulary import Api, ErrorCode

CONTROLLER: Final = "controller"


def draw_step(story: Storyboard, row: Row, log: PartitionLog | None) -> None:
    """Draw what a step decides, if it changes something; `log` is that of its broker, None for a controller."""
    name, _, number = str(row["node"]).rpartition("-")
    at = broker(int(number)) if name == "broker" else CONTROLLER
    match row["api"]:
        case Api.PRODUCE if row["appended"]:
            story.note(at, f"appends it at offset {row['first_offset']}")
        case Api.PRODUCE if row["duplicate"]:
            story.note(at, "knows the batch, and appends nothing")
        case Api.PRODUCE if row["acks"] == 0:
            story.note(at, ErrorCode(int(row["error"])).name)
        case "ReplicaFetch" if row["appended"]:
            leader = broker(int(str(row["client"]).rpartition("-")[2]))
            story.report(leader, at, f"copies {copied(row, log)}", part_of=("copy", number))
        case "ReplicaTruncate" if row["after_log_end"] != row["before_log_end"] and row["producer_id"] == -1:
            story.remark(at, f"drops what it has from offset {row['truncated_to']} on")
        case "BrokerFenced":
            story.remark(at, f"fences broker {row['broker']}: its session has timed out")
        case "LeaderElection":
            story.remark(at, elected(row))
        case "AlterPartition" if row["error"] == 0:
            sizes = f"{row['proposed_size']} in sync instead of {row['insync_size']}"
            story.report(broker(int(row["broker"])), at, f"AlterPartition: {sizes}")
        case "AlterPartition":
            error = ErrorCode(int(row["error"])).name
            story.report(broker(int(row["broker"])), at, "AlterPartition", part_of="proposal")
            story.report(at, broker(int(row["broker"])), error, Mark.REFUSED, "proposal")
        case "ReplicaLagCheck" if row["proposed"]:
            story.remark(at, f"broker {row['broker']} lags (replica.lag.time.max.ms)")
        case "ControllerElection":
            story.remark(at, f"controller {number} is elected, with epoch {row['controller_epoch_after']}")
        case "ControlledShutdown":
            story.remark(at, f"broker {row['broker']} is to give up what it leads")


def copied(row: Row, log: PartitionLog | None) -> str:
    """The values that a follower has just copied."""
    batches = () if log is None else log.read(int(row["first_offset"]), int(row["last_offset"]) + 1)
    return ", ".join(value for batch in batches for value in values_of(batch))


def elected(row: Row) -> str:
    """An election in words."""
    if row["elected"] == -1:
        return "finds no replica that may lead"
    how = "though it is not in sync" if row["elected_uncleanly"] else f"({row['election']})"
    return f"broker {row['elected']} leads, with leader epoch {row['leader_epoch_after']} {how}"
