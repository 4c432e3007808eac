"""A client history against every class of anomalies."""

from model_tests.histories.anomalies import AnomalyCases, AnomalyKind
from model_tests.histories.log_order import LogOrder
from model_tests.histories.of_cycles import of_cycles
from model_tests.histories.of_order import of_order
from model_tests.histories.of_records import of_records
from model_tests.histories.of_transactions import of_transactions


def judge(order: LogOrder, *, read_committed: bool = True) -> dict[AnomalyKind, AnomalyCases]:
    """Every class with its cases, those without any included.

    Args:
        order: what the history shows of the logs.
        read_committed: its readers were to see committed records only.
    """
    found = [
        *of_records(order, read_committed=read_committed),
        *of_order(order),
        *of_cycles(order, read_committed=read_committed),
        *of_transactions(order, read_committed=read_committed),
    ]
    return {one.kind: one for one in found}
