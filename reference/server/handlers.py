"""Who handles each api."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from reference.server import produce_api
from reference.server.admin_api import (
    describe_cluster,
    describe_groups,
    describe_producers,
    describe_transactions,
    list_all_transactions,
    list_groups,
)
from reference.server.configs_api import describe_configs
from reference.server.coordinator_api import (
    add_offsets,
    add_partitions,
    end_txn,
    find_coordinator,
    init_producer_id,
    txn_offset_commit,
)
from reference.server.fetch_api import fetch, list_offsets
from reference.server.group_api import heartbeat, join_group, leave_group, offset_commit, offset_fetch, sync_group
from reference.server.group_deletion_api import delete_groups, offset_delete
from reference.server.metadata_api import api_versions, create_topics, metadata
from reference.server.records_api import delete_records, offset_for_leader_epoch, write_txn_markers
from reference.server.service import Call, Service
from reference.server.topics_api import create_partitions, delete_topics

Handler: TypeAlias = Callable[[Service, Call], None]

HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        "AddOffsetsToTxn": add_offsets,
        "AddPartitionsToTxn": add_partitions,
        "ApiVersions": api_versions,
        "CreatePartitions": create_partitions,
        "CreateTopics": create_topics,
        "DeleteGroups": delete_groups,
        "DeleteRecords": delete_records,
        "DeleteTopics": delete_topics,
        "DescribeCluster": describe_cluster,
        "DescribeConfigs": describe_configs,
        "DescribeGroups": describe_groups,
        "DescribeProducers": describe_producers,
        "DescribeTransactions": describe_transactions,
        "EndTxn": end_txn,
        "Fetch": fetch,
        "FindCoordinator": find_coordinator,
        "Heartbeat": heartbeat,
        "InitProducerId": init_producer_id,
        "JoinGroup": join_group,
        "LeaveGroup": leave_group,
        "ListGroups": list_groups,
        "ListOffsets": list_offsets,
        "ListTransactions": list_all_transactions,
        "Metadata": metadata,
        "OffsetCommit": offset_commit,
        "OffsetDelete": offset_delete,
        "OffsetFetch": offset_fetch,
        "OffsetForLeaderEpoch": offset_for_leader_epoch,
        "Produce": produce_api.produce,
        "SyncGroup": sync_group,
        "TxnOffsetCommit": txn_offset_commit,
        "WriteTxnMarkers": write_txn_markers,
    }
)
"""What handles each api; every one that is announced is here."""


def check_readable(service: Service, api: str, message: Any) -> None:
    """What a node finds out while it reads a request, before it is dealt with.

    Raises:
        MalformedRequest: the release cannot read it, and closes the connection.
    """
    if api == "Produce":
        produce_api.check_readable(service.settings.profile, message)


def handle(service: Service, call: Call) -> None:
    """One step: deal with a request of an api that is served, and with all that follows from it."""
    HANDLERS[call.header.api](service, call)
    service.end()
