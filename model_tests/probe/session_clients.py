"""The actions of one session as requests: prepared, sent to the node that should answer, and written as recorded."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from model_tests.probe.answers import recorded
from model_tests.probe.client import TIMEOUT_MS, Sent, knowledge_of, recorded_api
from model_tests.probe.played import FORBIDDEN, SLOW_EPOCHS, UNREADY, UNRECORDED, SessionEnded
from model_tests.probe.requests import fields_of, version_of
from model_tests.probe.script import COPY, EXHAUST, GROUP, ScriptAction, SessionNames
from model_tests.probe.target import GROUP as GROUP_KIND
from model_tests.probe.target import TRANSACTION, TRANSIENT, NodeRequest, Target, attempts, name_of
from spec.versions import Profile
from spec.vocabulary import Api, ErrorCode

COMPLETES_S: Final = 3.0
"""How long a request is sent again that the transaction before refuses, where its completion cannot be seen."""

UNREADY_S: Final = 20.0
"""How long a request is sent again that a leader or coordinator is not ready for."""

SESSION_MS: Final = 1_800_000
"""Session timeout of a group's member: it outlives its session."""

EARLY_SESSION_MS: Final = 300_000
"""Likewise, as much as brokers before 2.4 allow."""

AT_ONCE: Final = 200
"""Bumps of an epoch that are sent before the first answer is waited for."""

EPOCHS_S: Final = 120.0
"""How long epochs may take to run out."""

UNKNOWN_TOPIC_ID: Final = 100
UNAUTHORIZED: Final = frozenset(error for error in ErrorCode if error.name.endswith("AUTHORIZATION_FAILED"))
"""Errors that say that this client may not send such a request."""

STATIC_SINCE: Final = 5
"""First version of JoinGroup that names an instance."""


class SessionClients:
    """The clients of one session, and the broker."""

    def __init__(self, target: Target, profile: Profile, names: SessionNames, *, legacy: bool) -> None:
        """A fresh session.

        Args:
            target: the broker.
            profile: that it is compared with.
            names: of the session, fresh.
            legacy: its clients know no transactions of version 2.
        """
        self.client = knowledge_of(names, profile)
        self._target = target
        self._profile = profile
        self._names = names
        self._legacy = legacy

    def prepared(self, action: ScriptAction, place: int) -> Sent | None:
        """The request of an action that is step number `place`; None where it means nothing here."""
        if action.api == COPY:
            return self.client.sent.get(action.original)
        if action.api == EXHAUST:
            bumps = self.client.request(action, 0)
            return None if bumps is None else Sent(place, EXHAUST, 0, bumps, {})
        announced = self._target.announced
        version = version_of(announced, self._profile, action, explicit=self._legacy)
        request = None if version is None else self.client.request(action, version)
        if version is None or request is None:
            return None
        fields = fields_of(action.api, request, self._names, f"s{place}", time.time_ns() // 1_000_000)
        return Sent(place, recorded_api(action.api, request), version, request, fields)

    def answered(
        self, sent: Sent, looks: Sequence[NodeRequest], *, completing: bool
    ) -> tuple[dict[str, Any], Sequence[Any]]:
        """The answer as it is recorded, once the node that should give it is ready to, and what is seen after it.

        Args:
            sent: the request.
            looks: requests that ask for the state; they follow on the same connection if it leads to where all go.
            completing: the transaction before may be in the way, on a broker that does not show when it is complete.

        Returns:
            The answer, and those to what follows, none if nothing did.

        Raises:
            SessionEnded: the node is not ready for too long, or this client may not send such a request.
        """
        until = time.monotonic() + COMPLETES_S
        for number in attempts(UNREADY_S):
            node = self.node(sent, anew=number > 0)
            following = looks if all(each.node == node for each in looks) else ()
            asked = NodeRequest(node, sent.sent_api, sent.version, sent.fields)
            given, *seen = self._target.request_all([asked, *following])
            answer = self.recorded(sent, given)
            if is_forbidden(sent, answer):
                raise SessionEnded(f"{FORBIDDEN} {sent.api}")
            refused = completing and answer["error_code"] == ErrorCode.CONCURRENT_TRANSACTIONS
            if not (refused and time.monotonic() < until) and not is_unready(sent, answer):
                return answer, seen
        raise SessionEnded(UNREADY)

    def recorded(self, sent: Sent, answer: Any) -> dict[str, Any]:
        """An answer as it is recorded.

        Raises:
            SessionEnded: it cannot be.
        """
        try:
            return recorded(sent.api, sent.version, answer, sent.request, self._names)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise SessionEnded(f"{UNRECORDED}: {sent.api} without {error}") from error

    def node(self, sent: Sent, *, anew: bool) -> int:
        """The node that should answer; `anew` asks again which one that is."""
        match sent.sent_api:
            case Api.PRODUCE | Api.FETCH:
                first, *_ = sent.request.get("batches", [sent.request])
                return self._leader(first["partition"], anew=anew)
            case Api.WRITE_TXN_MARKERS:
                return self._leader(sent.request["markers"][0]["partitions"][0], anew=anew)
            case Api.TXN_OFFSET_COMMIT | Api.OFFSET_COMMIT | Api.OFFSET_FETCH:
                return self._target.coordinator(GROUP_KIND, self._names.named(GROUP), anew=anew)
            case Api.LIST_TRANSACTIONS:
                return self._target.coordinator(TRANSACTION, self._names.named("t0"), anew=anew)
        named = sent.request["transactional_id"]
        return -1 if named is None else self._target.coordinator(TRANSACTION, self._names.named(named), anew=anew)

    def _leader(self, partition: str, *, anew: bool) -> int:
        if anew:
            self._names.info = self._target.described_topics([self._names.topic])[self._names.topic]
        return self._names.leader(int(partition.rpartition("-")[2]))

    # --- epochs that run out --------------------------------------------------------------------------------------

    def exhausted(self, sent: Sent) -> tuple[int, dict[str, Any], dict[str, Any]]:
        """Send InitProducerId so many times, as long as each answer has the epoch after the one before.

        Returns:
            How many answers were so, the last of these, and the first that was not, empty if there was none.

        Raises:
            SessionEnded: it takes too long.
        """
        known = self.client.identities[sent.request["transactional_id"]]
        request = {**sent.request, "producer_id": -1, "producer_epoch": -1}
        request.pop("times")
        version = self._target.newest(Api.INIT_PRODUCER_ID, 4)
        one = Sent(sent.place, Api.INIT_PRODUCER_ID, version, request, {})
        one = one._replace(fields=fields_of(one.api, request, self._names, "", 0))
        last: dict[str, Any] = {"error": "NONE", "producer_id": known.producer_id, "producer_epoch": known.epoch}
        done, until = 0, time.monotonic() + EPOCHS_S
        while done < sent.request["times"]:
            requested = NodeRequest(self.node(one, anew=False), one.api, one.version, one.fields)
            several = [requested] * min(AT_ONCE, sent.request["times"] - done)
            for answer in self._target.request_all(several):
                found = self.recorded(one, answer)
                if found != {**last, "error_code": 0, "producer_epoch": last["producer_epoch"] + 1}:
                    return done, last, found
                last, done = found, done + 1
            if time.monotonic() > until:
                raise SessionEnded(SLOW_EPOCHS)
        return done, last, {}

    # --- the group ------------------------------------------------------------------------------------------------

    def joined(self, instance: str) -> dict[str, Any]:
        """The only member joins; it gets its id first where the release wants that.

        Args:
            instance: name of a static member, empty for one that is none.

        Returns:
            The answer to its SyncGroup, its id and its generation.

        Raises:
            SessionEnded: it is not let in.
        """
        version = self._target.newest(Api.JOIN_GROUP, STATIC_SINCE)
        group = self._names.named(GROUP)
        node = self._target.coordinator(GROUP_KIND, group)
        static = instance or None
        fields = {
            "group_id": group,
            "session_timeout_ms": SESSION_MS if self._target.has(Api.OFFSET_DELETE) else EARLY_SESSION_MS,
            "rebalance_timeout_ms": TIMEOUT_MS,
            "member_id": "",
            "group_instance_id": static,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        joined = self._target.request(node, Api.JOIN_GROUP, version, fields)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            joined = self._target.request(node, Api.JOIN_GROUP, version, {**fields, "member_id": joined.member_id})
        if joined.error_code:
            raise SessionEnded(f"{UNREADY}: JoinGroup is answered {name_of(joined.error_code)}")
        claim = {"generation_id": int(joined.generation_id), "member_id": joined.member_id, "group_instance_id": static}
        assignments = [{"member_id": joined.member_id, "assignment": b""}]
        version = self._target.newest(Api.SYNC_GROUP, 3)
        requested = {"group_id": group, **claim, "assignments": assignments}
        synced = self._target.request(node, Api.SYNC_GROUP, version, requested)
        return {"error_code": int(synced.error_code), "member": joined.member_id, "generation": claim["generation_id"]}


def is_forbidden(sent: Sent, answer: Mapping[str, Any]) -> bool:
    """Whether this client may not send such a request; data of a transaction without an id is refused to everybody."""
    everybody = sent.sent_api == Api.PRODUCE and sent.request["transactional_id"] is None
    return answer["error_code"] in UNAUTHORIZED and not everybody


def is_unready(sent: Sent, answer: Mapping[str, Any]) -> bool:
    """Whether the cluster asks to send it again, and nothing has come of it."""
    code = answer["error_code"]
    if any(part["error"] == "NONE" for part in answer.get("partitions", {}).values() if isinstance(part, dict)):
        return False
    unheard = sent.api == Api.ADD_PARTITIONS_TO_TXN and code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return code in (*TRANSIENT, UNKNOWN_TOPIC_ID) or unheard  # the topic is there; the node has not heard of it yet
