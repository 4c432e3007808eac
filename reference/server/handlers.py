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
from reference.server.configs import describe_configs
from reference.server.coordinator_api import (
    add_offsets,
    add_partitions,
    end_txn,
    find_coordinator,
    init_producer_id,
    txn_offset_commit,
)
from reference.server.fetch_api import fetch, list_offsets
from reference.server.group_api import (
    delete_groups,
    heartbeat,
    join_group,
    leave_group,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from reference.server.metadata_api import api_versions, create_partitions, create_topics, delete_topics, metadata
from reference.server.records_api import delete_records, offset_for_leader_epoch, write_txn_markers
from reference.server.service import ClientRequest, Service
from spec.vocabulary import Api

Handler: TypeAlias = Callable[[Service, ClientRequest], None]

HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        Api.ADD_OFFSETS_TO_TXN: add_offsets,
        Api.ADD_PARTITIONS_TO_TXN: add_partitions,
        Api.API_VERSIONS: api_versions,
        Api.CREATE_PARTITIONS: create_partitions,
        Api.CREATE_TOPICS: create_topics,
        Api.DELETE_GROUPS: delete_groups,
        Api.DELETE_RECORDS: delete_records,
        Api.DELETE_TOPICS: delete_topics,
        Api.DESCRIBE_CLUSTER: describe_cluster,
        Api.DESCRIBE_CONFIGS: describe_configs,
        Api.DESCRIBE_GROUPS: describe_groups,
        Api.DESCRIBE_PRODUCERS: describe_producers,
        Api.DESCRIBE_TRANSACTIONS: describe_transactions,
        Api.END_TXN: end_txn,
        Api.FETCH: fetch,
        Api.FIND_COORDINATOR: find_coordinator,
        Api.HEARTBEAT: heartbeat,
        Api.INIT_PRODUCER_ID: init_producer_id,
        Api.JOIN_GROUP: join_group,
        Api.LEAVE_GROUP: leave_group,
        Api.LIST_GROUPS: list_groups,
        Api.LIST_OFFSETS: list_offsets,
        Api.LIST_TRANSACTIONS: list_all_transactions,
        Api.METADATA: metadata,
        Api.OFFSET_COMMIT: offset_commit,
        Api.OFFSET_DELETE: offset_delete,
        Api.OFFSET_FETCH: offset_fetch,
        Api.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
        Api.PRODUCE: produce_api.produce,
        Api.SYNC_GROUP: sync_group,
        Api.TXN_OFFSET_COMMIT: txn_offset_commit,
        Api.WRITE_TXN_MARKERS: write_txn_markers,
    }
)
"""What handles each api; every one that is announced is here."""


def check_readable(service: Service, api: str, message: Any) -> None:
    """What a node finds out while it reads a request, before it is dealt with.

    Raises:
        MalformedRequest: the release cannot read it, and closes the connection.
    """
    if api == Api.PRODUCE:
        produce_api.check_readable(service.settings.profile, message)


def handle(service: Service, call: ClientRequest) -> None:
    """One step: deal with a request of an api that is served, and with all that follows from it."""
    HANDLERS[call.header.api](service, call)
    service.end()
