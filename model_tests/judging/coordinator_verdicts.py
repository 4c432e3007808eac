"""Row rules of transaction coordinators on Spark: each step against its decision, compiled once per behaviour."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from model_tests.judging.compiled import holds
from model_tests.judging.verdicts import by_behaviour, verdict_columns
from model_tests.traces.schema import OF_ID, coordinator_step_of
from spec import rules
from spec.algebra import Term, all_of, any_of, negate
from spec.evidence import Layer, evidences
from spec.judging.judge_coordinator import judge
from spec.protocol.coordinator_steps import DECISIONS
from spec.readings.formulas import Merge, Sheet
from spec.versions import NEWEST, Profile

NEEDED: Final = (
    "time_ms",
    "transactional_id",
    "node",
    "api_version",
    "producer_id",
    "producer_epoch",
    "expected_producer_id",
    "expected_epoch",
    "timeout_ms",
    "committed",
    "error",
    "reply_producer_id",
    "reply_epoch",
    *(f"{moment}_{name}" for moment in ("before", "after") for name in OF_ID.values()),
    *(f"{moment}_{name}" for moment in ("before", "after") for name in ("txn_partitions", "partition_registered")),
)
"""Columns without which a coordinator's step cannot be judged."""


@evidences(rules.IDS_IDENTITY_NEVER_REPEATS, Layer.TRACE)
@evidences(rules.FENCE_STALE_EPOCH, Layer.TRACE)
@evidences(rules.FENCE_EPOCH_EXHAUSTION, Layer.TRACE)
@evidences(rules.FENCE_ZOMBIE_CANNOT_COMMIT, Layer.TRACE)
@evidences(rules.TXN_LEGAL_TRANSITION, Layer.TRACE)
@evidences(rules.TXN_ONE_OUTCOME, Layer.TRACE)
@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.TRACE)
@evidences(rules.TXN_TIMEOUT, Layer.TRACE)
@evidences(rules.TXN_FAILOVER, Layer.TRACE)
@evidences(rules.TXN_EXPIRY, Layer.TRACE)
def coordinator_results(sheet: Sheet, api: str, profiles: Mapping[str, Profile]) -> dict[str, Term]:
    """The verdict on a step of one kind under the profile and the transaction version that it names, as formulas."""
    behaviours = dict(by_behaviour(profiles))
    step, version = coordinator_step_of(sheet.column), sheet.column("transaction_version")
    verdicts = []
    for profile in behaviours:
        expected, checks = judge(api, step, as_recorded(profile, version))
        verdicts.append(verdict_columns(expected.branch, checks, sheet, api))
    return Merge(sheet, tuple(behaviours.values())).results(verdicts)


def all_coordinator_results(sheet: Sheet, profiles: Mapping[str, Profile]) -> dict[str, dict[str, Term]]:
    """The verdict on a step of each kind, as formulas."""
    return {api: coordinator_results(sheet, api, profiles) for api in DECISIONS}


def as_recorded(profile: Profile, transaction_version: Term) -> Profile:
    """The release under the transaction version of a step, which may be a column."""
    return replace(profile, transaction_version=transaction_version)


def of_coordinator(of: Callable[[str], Term]) -> Term:
    """A step is one of a transaction coordinator; an InitProducerId without an id is answered by any broker."""
    return all_of(negate(of("transactional_id") == ""), any_of(*(of("api") == api for api in DECISIONS)))


is_coordinators: Final = holds(of_coordinator)
"""The same of a row."""


@cache
def branch_names(api: str) -> tuple[str, ...]:
    """Name of every branch of the decision about steps of this kind; releases differ in what applies, not in these."""
    return DECISIONS[api](coordinator_step_of(Sheet().column), NEWEST).names
