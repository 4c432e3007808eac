"""What a session's clients know: identities, next sequences, and what they have sent; symbols become requests."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from model_tests.conform.requests import SEVERAL
from model_tests.probe import script
from model_tests.probe.script import GROUP, MARKER, STRANGER, UNNUMBERED, ScriptAction, SessionNames
from reference.server.service import Fields
from spec.versions import Profile
from spec.vocabulary import MAX_SEQUENCE, Api

TIMEOUT_MS: Final = 60_000
"""Of transactions."""

OPEN: Final = "Ongoing"
"""The state, as Kafka calls it, of a transaction that can time out."""

TIMED_OUT: Final = "CompleteAbort"
"""The state in which it is then."""

WRONG_ACKS: Final = 2
"""No number of replicas that can be waited for."""

EXPECTS_SINCE: Final = 3
"""First version of InitProducerId that names the identity of its sender (KIP-360)."""

MEMBERS_SINCE: Final = 3
"""First version of TxnOffsetCommit that names a member of the group (KIP-447)."""

STABLE_SINCE: Final = 7
MARKER_VERSION_SINCE: Final = 2
"""First version of WriteTxnMarkers whose markers say of which transaction version they are."""

FIRST_GENERATION: Final = 1
JOINED: Final = "member0"
"""Symbol of the only member of the group."""


HAND_OUT: Final = (Api.INIT_PRODUCER_ID, Api.END_TXN, script.EXHAUST)
"""What is answered with an identity."""


class Identity(NamedTuple):
    """A producer id by its symbol, and an epoch."""

    producer_id: str
    epoch: int


class Sent(NamedTuple):
    """A request as it was sent, so that it can be sent again.

    Attributes:
        place: of the step in the session.
        api: as the session names it.
    """

    place: int
    api: str
    version: int
    request: dict[str, Any]
    fields: Fields

    @property
    def sent_api(self) -> str:
        """As it goes over the wire."""
        return Api.PRODUCE if self.api == SEVERAL else self.api


def recorded_api(api: str, request: Mapping[str, Any]) -> str:
    """What a session calls a request: a Produce of several batches has a name of its own."""
    return SEVERAL if "batches" in request else api


@dataclass(slots=True)
class ClientKnowledge:
    """The knowledge of all clients of a session.

    Attributes:
        max_epoch: the one that only a coordinator uses.
        ill_formed: batches of the wrong form that are sent.
        joined: a member is in the group.
    """

    names: SessionNames
    transaction_version: int
    max_epoch: int
    ill_formed: frozenset[str]
    joined: bool = False
    identities: dict[str, Identity] = field(default_factory=dict)
    sent: dict[int, Sent] = field(default_factory=dict)
    _next: dict[tuple[str, int, str], int] = field(default_factory=dict)

    def request(self, action: ScriptAction, version: int) -> dict[str, Any] | None:
        """The request of an action as a session records it; None where nothing is known that it could name."""
        match action.api:
            case Api.PRODUCE:
                return self._produce(action)
            case Api.FETCH:
                return _fetch(action)
            case Api.INIT_PRODUCER_ID:
                return self._initialize(action, version)
            case script.EXHAUST:
                return self._exhaust(action)
            case script.AWAIT:
                return {"transactional_id": action.who, "states": [TIMED_OUT]}
            case Api.OFFSET_COMMIT:
                generation, member = self._claim(action)
                offsets = dict.fromkeys(_named(action), action.offset)
                return {"group": GROUP, "generation": generation, "member": member, "offsets": offsets}
            case Api.OFFSET_FETCH:
                stable = action.committed_only and version >= STABLE_SINCE
                return {"group": GROUP, "partitions": list(self.names.partitions), "require_stable": stable}
            case Api.WRITE_TXN_MARKERS:
                return self._markers(action, version)
            case Api.LIST_TRANSACTIONS:
                known = self.identities.get(action.who)
                return {"state_filters": [], "producer_id_filters": [known.producer_id]} if known else None
        return self._of_transaction(action, version)

    def take(self, action: ScriptAction, sent: Sent, response: Mapping[str, Any]) -> None:
        """Learn from an answer."""
        self.sent[action.key] = sent
        for batch, answered in _batches(sent, response):
            if answered["error"] == "NONE" and answered["log_append_time"] == -1:
                self._count(batch)
        if response["error"] != "NONE":
            return
        if sent.api in HAND_OUT and isinstance(response.get("producer_id"), str):
            who = sent.request["transactional_id"] or action.who
            self.identities[who] = Identity(response["producer_id"], response["producer_epoch"])

    def _count(self, batch: Mapping[str, Any]) -> None:
        if batch["base_sequence"] >= 0:
            place = (batch["producer_id"], batch["producer_epoch"], batch["partition"])
            self._next[place] = (batch["base_sequence"] + batch["record_count"]) % (MAX_SEQUENCE + 1)

    def _produce(self, action: ScriptAction) -> dict[str, Any] | None:
        """A batch, or two for the partitions of one leader."""
        about = {
            "transactional_id": action.who if action.transactional and action.who.startswith("t") else None,
            "acks": WRONG_ACKS if action.ill == script.ACKS else -1,
        }
        if not action.both:
            batch = self._batch(action)
            return None if batch is None else {**batch, **about}
        numbers = (action.partition, 1 - action.partition)
        first, second = replace(action, of=""), replace(action, partition=numbers[1], ill="")
        batches = [self._batch(first), self._batch(second)]
        leaders = {self.names.leader(number) for number in numbers}
        return None if None in batches or len(leaders) > 1 else {"batches": batches, **about}

    def _batch(self, action: ScriptAction) -> dict[str, Any] | None:
        partition = f"t-{action.partition}"
        batch = {"partition": partition, "record_count": action.records, **self._ill_formed(action)}
        if not action.who:
            return {**batch, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "transactional": False}
        known = self._identity(action)
        if known is None:
            return None
        following = self._next.get((known.producer_id, known.epoch, partition), 0)
        return {
            **batch,
            "producer_id": known.producer_id,
            "producer_epoch": known.epoch,
            "base_sequence": -1
            if action.ill in (MARKER, UNNUMBERED)
            else (following + action.sequence) % (MAX_SEQUENCE + 1),
            "transactional": action.transactional or action.ill == MARKER,
        }

    def _ill_formed(self, action: ScriptAction) -> dict[str, Any]:
        """What a batch of the wrong form has otherwise than others."""
        if action.ill not in self.ill_formed:
            return {}
        several = max(action.records, 2)
        forms: dict[str, dict[str, Any]] = {
            script.MARKER: {
                "record_count": 1,
                "control": "COMMIT" if action.commits else "ABORT",
                "coordinator_epoch": 0,
            },
            script.EMPTY: {"record_count": 0},
            script.DOUBLED: {"batch_count": 2},
            script.LONGER: {"last_offset_delta": action.records},
            script.SHORTER: {"record_count": several, "last_offset_delta": several - 2},
        }
        return forms.get(action.ill, {})

    def _identity(self, action: ScriptAction) -> Identity | None:
        known = self.identities.get(action.of or action.who)
        if known is None:
            return None
        return Identity(known.producer_id, min(max(known.epoch + action.epoch, 0), self.max_epoch))

    def _initialize(self, action: ScriptAction, version: int) -> dict[str, Any]:
        if not action.who.startswith("t"):
            return {"transactional_id": None, "timeout": TIMEOUT_MS}
        known = self._identity(action) if action.expects and version >= EXPECTS_SINCE else None
        expected = (-1, -1) if known is None else known
        return {
            "transactional_id": action.who,
            "timeout": 0 if action.ill == script.NO_TIMEOUT else action.timeout_ms or TIMEOUT_MS,
            "producer_id": expected[0],
            "producer_epoch": -1 if action.ill == script.HALF else expected[1],
        }

    def _exhaust(self, action: ScriptAction) -> dict[str, Any] | None:
        """As many bumps as lead to the last epoch of a client, or to one before it."""
        known = self.identities.get(action.who)
        times = 0 if known is None else self.max_epoch - 1 + action.epoch - known.epoch
        return {"transactional_id": action.who, "timeout": TIMEOUT_MS, "times": times} if times > 0 else None

    def _markers(self, action: ScriptAction, version: int) -> dict[str, Any] | None:
        """A marker as a coordinator sends it; before the first real one the coordinator's epoch is unknown."""
        known = self._identity(action)
        if known is None or self.names.number(known.producer_id) not in self.names.coordinator_epochs:
            return None
        marker: dict[str, Any] = {
            "producer_id": known.producer_id,
            "producer_epoch": known.epoch,
            "committed": action.commits,
            "coordinator_epoch": max(action.marker_epoch, 0),
            "partitions": [f"t-{action.partition}"],
        }
        if version >= MARKER_VERSION_SINCE:
            marker["transaction_version"] = self.transaction_version
        return {"markers": [marker]}

    def _of_transaction(self, action: ScriptAction, version: int) -> dict[str, Any] | None:
        known = self._identity(action)
        if known is None:
            return None
        request: dict[str, Any] = {
            "transactional_id": action.who,
            "producer_id": known.producer_id,
            "producer_epoch": known.epoch,
        }
        match action.api:
            case Api.ADD_PARTITIONS_TO_TXN:
                asked = {"verify_only": True} if action.verifies else {}
                return {**request, "partitions": _named(action), **asked}
            case Api.END_TXN:
                return {**request, "committed": action.commits}
            case Api.ADD_OFFSETS_TO_TXN:
                return {**request, "group": GROUP}
        commit = {**request, "group": GROUP, "offsets": dict.fromkeys(_named(action), action.offset)}
        if version < MEMBERS_SINCE:
            return commit
        generation, member = self._claim(action)
        return {**commit, "generation": generation, "member": member, "group_instance_id": action.instance or None}

    def _claim(self, action: ScriptAction) -> tuple[int, str]:
        """The generation and the member as which offsets are committed."""
        if action.stranger:
            return FIRST_GENERATION + action.generation, STRANGER
        if action.member and self.joined:
            return FIRST_GENERATION + action.generation, JOINED
        return -1, ""


def _named(action: ScriptAction) -> list[str]:
    """The partitions that a request names."""
    numbers = (action.partition, 1 - action.partition) if action.both else (action.partition,)
    return [f"t-{number}" for number in numbers]


def _batches(sent: Sent, response: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each batch of a Produce, and its answer."""
    if sent.api == Api.PRODUCE:
        yield sent.request, response
    elif sent.api == SEVERAL:
        yield from ((batch, response["partitions"][batch["partition"]]) for batch in sent.request["batches"])


def _fetch(action: ScriptAction) -> dict[str, Any]:
    request = {
        "partition": f"t-{action.partition}",
        "offset": action.offset,
        "isolation": "read_committed" if action.committed_only else "read_uncommitted",
    }
    return {**request, "partition_max_bytes": action.limit} if action.limit else request


def knowledge_of(names: SessionNames, profile: Profile) -> ClientKnowledge:
    """The clients of a fresh session with a broker of a profile.

    Where the broker closes the connection of two batches for one partition, or takes a batch that is miscounted, none
    is sent: the former ends the session, and the latter leaves a log that is not specified.
    """
    unsent = {script.DOUBLED} if not profile.invalid_record_has_code else set()
    if not profile.records_compared_with_offsets:
        unsent |= {script.LONGER, script.SHORTER}
    return ClientKnowledge(
        names, profile.transaction_version, profile.max_epoch, ill_formed=frozenset(script.ILL) - unsent
    )
