"""Facts of single decisions for all inputs: each is proved, and a broken decision is reported by its rule."""

from itertools import groupby

import pytest

from model_tests.mutants.decisions.made import by_name
from model_tests.unit.by_default import by_default
from model_tests.verify import proofs, proving
from model_tests.verify.proofs import attempted
from model_tests.verify.prove import run
from model_tests.verify.proving import here
from spec import rules
from spec.engines.induction import prove_fact
from spec.engines.reading_z3 import INTEGERS
from spec.engines.verdict import Proved, Refuted
from spec.systems.answer_lemmas import answer_facts, step_answer_facts
from spec.systems.broken_lemmas import facts_of_bugs
from spec.systems.decision_lemmas import Fact
from spec.systems.election_lemmas import election_facts
from spec.systems.group_lemmas import group_facts
from spec.systems.produce_lemmas import produce_facts
from spec.systems.replica_lemmas import replica_facts
from spec.systems.retention_lemmas import keeping_facts
from spec.systems.step_lemmas import step_facts

FACTS = (
    *produce_facts(),
    *answer_facts(),
    *keeping_facts(),
    *group_facts(),
    *election_facts(),
    *replica_facts(),
    *step_facts(),
    *step_answer_facts(),
)


def family(fact: Fact) -> str:
    """What a fact is called, whatever its release."""
    return fact.name.partition("[")[0]


FAMILIES = {name: tuple(facts) for name, facts in groupby(sorted(FACTS, key=family), key=family)}


LEFT_OUT = {
    *("outcome_is_kept_initialize", "outcome_is_kept_end", "loss_changes_nothing_initialize", "end_is_as_requested"),
    *("fenced_clients_know_the_word", "open_transaction_is_aborted_first"),
}
"""Facts that take the solver longest: `eos verify` proves them, as all others, by default."""


@pytest.mark.parametrize("name", by_default({name: name for name in FAMILIES}, FAMILIES.keys() - LEFT_OUT))
def test_a_fact_holds_for_all_inputs(name: str) -> None:
    """In every release for which it is stated."""
    assert {Proved()} == {prove_fact(fact).verdict for fact in FAMILIES[name]}


SEEN = (
    ("produce.guards: guard transactional_id_missing dropped", "only_whole_requests_reach_the_log", "seq.well_formed"),
    ("seq.is_malformed: guard one_batch dropped", "only_whole_batches_are_taken", "seq.well_formed"),
    (
        "produce.answered: log_start is never chosen where request.version >= LOG_START_SINCE",
        "produce_is_answered_truly",
        "seq.duplicate_window",
    ),
    (
        "seq.unknown_error: profile.unknown_producer_error becomes not profile.unknown_producer_error",
        "unknown_producer_starts_by_release",
        "seq.first",
    ),
    ("verification.UNAVAILABLE: without NOT_COORDINATOR", "producer_understands", "txn.registered_before_data"),
    (
        "committing.reported: known.value is never chosen where error == met.value",
        "committer_understands",
        "txn.registered_before_data",
    ),
    (
        "committing.of_partition: error is never chosen where partition_exists",
        "partitions_are_reported_their_fate",
        "txn.registered_before_data",
    ),
    (
        "completing.is_given_up: error == code becomes error != code",
        "marker_is_taken_or_given_up",
        "txn.marker_once",
    ),
    (
        "registering.client_version: BUMPING is never chosen where version >= BY_BROKERS_SINCE",
        "marker_has_the_clients_version",
        "txn.marker_once",
    ),
    (
        "produce.recovered: entry.cached[position] is never chosen",
        "restart_takes_what_was_taken",
        "seq.state_recoverable",
    ),
    (
        "completing.may_be_forgotten: negate(entry.in_transaction) becomes entry.in_transaction",
        "forgetting_moves_no_reader",
        "lso.monotone",
    ),
    (
        "lso.is_listed: entry.last_offset >= fetch_offset becomes entry.last_offset > fetch_offset",
        "index_lists_what_a_fetch_needs",
        "lso.aborted_index",
    ),
    (
        "lso.ends_the_list: entry.last_stable >= upper becomes entry.last_stable >= upper - 1",
        "search_of_the_index_stops_in_time",
        "lso.aborted_index",
    ),
    ("lso.fetch_guards: guard below_log_start dropped", "reader_receives_stable_records", "lso.bounds"),
    (
        "finding.partition_of: 0 is never chosen where name_hash == SMALLEST",
        "name_has_one_coordinator",
        "txn.one_outcome",
    ),
    ("blocks.guards: guard raced dropped", "blocks_are_apart", "ids.unique"),
    ("groups._generation_guard: guard generation_other dropped", "past_members_are_fenced", "offsets.generation_fence"),
    ("groups._member_unknown: guard member_unknown dropped", "members_join_as_themselves", "offsets.generation_fence"),
    ("groups.sync: stable is never chosen", "present_members_commit", "offsets.generation_fence"),
    (
        "committing._unnamed: guard group_unnamed dropped",
        "unconfirmed_offsets_are_refused",
        "txn.registered_before_data",
    ),
    ("groups.reloaded: GroupEntry() is never chosen", "group_outlives_its_coordinator", "offsets.generation_fence"),
    (
        "committing.to_append_plain: offsets - 1 with one more",
        "offsets_wait_for_their_marker",
        "offsets.atomic",
    ),
    (
        "committing.as_produce: version >= ADDS_SINCE becomes version > ADDS_SINCE",
        "offsets_join_their_transaction",
        "txn.registered_before_data",
    ),
    ("offsets.asks_stable: required dropped of all_of", "stable_offset_is_decided", "offsets.stable_fetch"),
    (
        "electing.chosen: is_fit(each, empty, profile) dropped of all_of",
        "leader_has_committed_records",
        "repl.committed_survives",
    ),
    (
        "electing.is_fit: nobody_in_sync dropped of all_of",
        "eligible_lead_without_in_sync_replicas",
        "repl.committed_survives",
    ),
    (
        "electing.elected: last is never chosen where negate(last == ABSENT)",
        "last_leader_is_before_anyone",
        "repl.committed_survives",
    ),
    ("electing.is_electable: again dropped of any_of", "leader_is_electable", "repl.committed_survives"),
    (
        "electing.is_fit: candidate.in_sync dropped of any_of",
        "leader_stays_or_is_the_first",
        "repl.committed_survives",
    ),
    (
        "electing.elected: all_of(negate(unclean), negate(empty)) dropped of any_of",
        "new_leader_is_in_sync",
        "repl.committed_survives",
    ),
    (
        "electing.lags: negate(progress.end == leader_end) dropped of all_of",
        "in_sync_follower_stays",
        "repl.committed_survives",
    ),
    (
        "electing.may_return: negate(profile.returns_at_epoch_start) becomes profile.returns_at_epoch_start",
        "returning_replica_has_committed_records",
        "repl.committed_survives",
    ),
    (
        "electing.may_leave: in_sync_before > 1 becomes in_sync_before >= 1",
        "some_replica_can_always_lead",
        "repl.committed_survives",
    ),
    (
        "repl.acknowledge_guards: guard not_yet_replicated dropped",
        "acknowledged_is_committed",
        "repl.committed_survives",
    ),
    ("repl.holds_back: proposed dropped of any_of", "high_watermark_waits_for_all", "repl.hw_bounds"),
    (
        "repl.follower_high_watermark: log_start is never chosen where reported < log_start",
        "reported_high_watermark_is_in_the_log",
        "repl.hw_bounds",
    ),
    (
        "repl.truncated_to: reported is never chosen unless named",
        "follower_keeps_only_leaders_records",
        "repl.prefix_agreement",
    ),
    (
        "repl.FetchReply.gives_records: negate(self.diverges) becomes self.diverges",
        "records_continue_the_followers_log",
        "repl.prefix_agreement",
    ),
    ("coordinator_steps.verify: verifies is False", "verification_changes_nothing", "txn.registered_before_data"),
    (
        "coordinator_steps.add_offsets: inputs stays as it was",
        "partitions_join_open_transaction",
        "txn.registered_before_data",
    ),
    (
        "coordinator_steps.marked: completed(entry, target, profile) is never chosen",
        "last_marker_completes",
        "txn.atomic",
    ),
    (
        "groups.epoch_guards: claim.epoch becomes claim.member_epoch (3)",
        "present_epochs_commit",
        "offsets.generation_fence",
    ),
    ("coordinator_steps.expire: TransactionEntry() is never chosen", "only_ids_at_rest_expire", "txn.expiry"),
    ("coordinator_steps.load: owing is never chosen", "new_coordinator_resumes", "txn.failover"),
    (
        "coordinator_steps.durable: memory is never chosen",
        "identity_is_new",
        "ids.identity_never_repeats",
    ),
)
"""A broken decision, the fact that some input refutes then, and its rule."""


@pytest.mark.parametrize(("mutant", "name", "rule"), SEEN, ids=lambda each: str(each).partition(":")[0])
def test_a_broken_decision_is_reported_by_its_rule(mutant: str, name: str, rule: str) -> None:
    """An input shows it."""
    with by_name()[mutant].in_place():
        found = [fact for fact in FAMILIES[name] if isinstance(prove_fact(fact).verdict, Refuted)]

    assert {rule} == {fact.rule.id for fact in found}


def test_releases_with_a_bug_are_refuted() -> None:
    """The controls that every run asks about."""
    verdicts = {fact.name: prove_fact(fact).verdict for fact in facts_of_bugs()}

    assert {"past_members_are_fenced[2.4]", "marker_has_the_clients_version[4.1]"} < verdicts.keys()
    assert all(isinstance(verdict, Refuted) for verdict in verdicts.values())


def test_a_fact_beside_the_proofs_has_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a rule that no result speaks of: else it would fail unnoticed."""
    monkeypatch.setattr(proving, "facts", lambda: ((fact, INTEGERS) for fact in facts_of_bugs()))
    monkeypatch.setattr(proofs, "PROVED_HERE", ())
    monkeypatch.setattr(proofs, "systems_of", lambda _: ())

    unproved = attempted([rules.REPL_COMMITTED_SURVIVES]).unproved

    assert len(unproved) == 1
    assert unproved[0].startswith("repl.committed_survives: returning_replica_has_committed_records")


def test_facts_beside_a_rule_are_no_proof_of_it() -> None:
    """The command reports that they hold, and gives no result."""
    report = run(rules.TXN_EXPIRY, kept=None, spread=here)

    assert (report.results, report.exit_code) == ((), 0)
    assert report.obligations
    assert ["less than the rule" in note for note in report.notes] == [True]
