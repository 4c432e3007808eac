"""Why a layer that reads a decision names no rule when it is broken, and why a decision is seen by few layers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from model_tests.mutants.decisions.layers import AUDIT, KNOWN_BUGS, PROOFS, SEARCHES, SESSIONS

BY_LAYER: Final[Mapping[str, str]] = MappingProxyType(
    {
        SEARCHES: "what these mutants change breaks no claim of the systems, and all that must happen still does",
        KNOWN_BUGS: "each case asks about one claim, which what these mutants change does not touch",
        PROOFS: "what is proved is safety, and every lemma holds under these mutants too",
        AUDIT: "a log shows which batches were appended and the state after them, and no answer or refusal",
    }
)
"""Of layers that ask about something in particular; sessions and traces hold every answer and every state."""

UNNAMED: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("completing.is_given_up", SESSIONS): "a marker that is sent again is refused again, without an answer",
        ("fence.asks_as_leader", SESSIONS): "who is not confirmed is refused before the log, and nothing is a copy",
        ("registering.client_version", SESSIONS): "no answer shows the version, and the end of the transaction says it",
        ("seq.continues_forgotten", SESSIONS): "no recorded broker is of 2.0 to 2.4, which alone decide so",
        ("seq.unknown_error", SESSIONS): "every recorded broker takes any first sequence, and returns no error",
        ("ending._own_version", SESSIONS): "no answer shows the version that the coordinator writes down",
        ("ids._written_version", SESSIONS): "no answer shows the version that the coordinator writes down",
        ("registering._written_version", SESSIONS): "no answer shows the version that the coordinator writes down",
        ("groups._dead_guard", SESSIONS): "no recorded group is dead on the coordinator that is asked",
        ("electing.is_empty", AUDIT): "no replica is eligible in the recorded cluster, which is of 3.9",
        ("electing._leads_again", AUDIT): "an audit checks whether a replica is fit to lead; the last leader is not",
        ("coordinator", AUDIT): "some request leads from one record to the next under these mutants too",
        ("ending", AUDIT): "some request leads from one record to the next under these mutants too",
        ("ids", AUDIT): "some request leads from one record to the next under these mutants too",
    }
)
"""By decision or family, and layer, where mutants decide otherwise."""

FEW: Final[Mapping[str, str]] = MappingProxyType(
    {
        "verification_queue": "only small inputs and unit tests: no system, trace or recording has such a queue",
        "cleaning.stays_empty": "unit tests alone: no system of the cleaner has rounds",
        "completing.is_dropped": "only the search for the known bug has partitions without a leader",
        "coordinator_steps.LOGGED_AS": "unit tests alone: no recorded or simulated log refuses a record",
        "coordinator_steps.PASSED_ON": "unit tests alone: no recorded or simulated log refuses a record",
        "coordinator_steps.not_logged": "unit tests alone: no recorded or simulated log refuses a record",
        "ending._own_version": "only the steps of traces have the version that is written down",
        "ids._written_version": "only the steps of traces have the version that is written down",
        "registering._written_version": "only the steps of traces have the version that is written down",
        "groups.epoch_guards": "only a fact for all inputs: no system, trace or recording has KIP-848",
        "groups._dead_guard": "only a fact for all inputs: no recorded or searched group is dead on its coordinator",
        "groups._with_dead": "no recorded or searched group is dead on its coordinator, and no fact is about the order",
        "groups.sync_guards": "no recorded or searched member syncs where its mutants decide otherwise",
        "committing._unnamed": "no recorded client commits for a group without a name, and the systems name theirs",
        "completing.is_given_up": "its sender alone knows that a marker is sent no more: sent again it is refused",
        "coordinator.look_up": "all but the proofs look tables up by numbers; the mutants look up terms otherwise",
        "finding.hash_of": "only the audit asks where a name belongs; the solver is asked about hashes, not names",
        "judge_clients": "only histories that clients wrote are judged by it",
        "judge_join": "only the audit joins the logs of partitions with their coordinator's",
        "judge_orphans": "only the audit joins the logs of partitions with their coordinator's",
        "judge_overdue": "only the audit asks until when a log goes on",
        "verification.UNAVAILABLE": "no recorded coordinator was unavailable when a leader asked it",
    }
)
"""By decision, or by family where it is the same for all."""
