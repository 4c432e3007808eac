"""The size and the kind of a pipeline."""

from dataclasses import dataclass
from typing import Final

from model_tests.machines.transaction_setting import SAFE, TransactionSetting
from reference.client.group_member import MemberSettings
from reference.tape import Tape
from reference.world.pipelines import GROUP
from reference.world.worker import Order

SESSION_MS: Final = 6000
"""The shortest session that brokers allow by default (`group.min.session.timeout.ms`)."""

HEARTBEAT_MS: Final = 1000
MAX_POLL_MS: Final = 20_000
"""A sixth of the session; and longer than three sessions, so that members time out by both."""


@dataclass(frozen=True, slots=True)
class PipelineSetting(TransactionSetting):
    """One pipeline.

    Attributes:
        workers_at_first: how many; others come and go.
        order: in which workers commit offsets and output.
        assignor: by which partitions are assigned.
        static: workers are static members: who starts again under a name takes the place of who had it.
    """

    workers_at_first: int = 2
    order: Order = Order.IN_TRANSACTION
    assignor: str = "range"
    static: bool = False

    def member(self, name: str) -> MemberSettings:
        """Settings of a worker's membership."""
        return MemberSettings(
            GROUP,
            client_id=name,
            group_instance_id=name if self.static else None,
            assignors=(self.assignor,),
            session_timeout_ms=SESSION_MS,
            heartbeat_ms=HEARTBEAT_MS,
            max_poll_ms=MAX_POLL_MS,
        )


def drawn_pipeline(choose: Tape, order: Order = Order.IN_TRANSACTION) -> PipelineSetting:
    """A pipeline of any size and kind."""
    return PipelineSetting(
        profile=choose.pick(SAFE),
        nodes=2 + choose.below(2),
        replicas=1 + choose.below(2),
        partitions=2 + choose.below(2),
        workers_at_first=1 + choose.below(3),
        order=order,
        assignor=choose.pick(("range", "roundrobin")),
        static=choose.below(3) == 1,
    )
