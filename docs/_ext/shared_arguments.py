"""What an argument means that many actions and claims of systems share: said once, and shown with each of them."""

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

MANY: Final = 4
"""A function with so many arguments says what each is."""

SHARED: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "spec.systems": {
            "profile": "the release whose behaviours the decision reads.",
            "entry": "what the partition knows of the batch's producer.",
            "request": "the batch that arrives.",
            "seen": "what the partition has heard of the coordinator's answer.",
            "without": "names of guards to leave out, to see that the fact needs them.",
            "_seen": "not read; every fact of an append is asked with it.",
            "decide": "the decision, or the step, that the fact is about.",
            "state": "of the whole system, before the action.",
            "partition": "which one.",
            "batch": "its number, from 0, in the order in which its client made it.",
            "epoch": "that it carries, or is to have.",
            "producer": "which one.",
            "position": "in the log, counted in batches from 0.",
            "offset": "of a record.",
        },
        "spec.systems.decision_facts": {"request": "the request that arrives."},
        "spec.systems.election_facts": {
            "one": "the first replica of the assignment.",
            "two": "the second.",
            "three": "the third.",
            "asked": "who leads now, whether the first is to, and whether anyone may.",
        },
        "spec.systems.group_facts": {
            "group": "what its coordinator knows of it.",
            "joining": "as whom, or in what, a request comes.",
            "past": "as whom somebody comes who belonged to an earlier generation.",
            "member": "as whom the request comes.",
            "said": "what else the requests say.",
            "commit": "the offsets that are committed, and as whom.",
        },
        "spec.systems.idempotence": {
            "stream": "what one producer sends to one partition.",
            "request": "its number, from 0, in the order of sending.",
            "others": "how many records of others are appended before it.",
        },
        "spec.systems.partition": {
            "log": "the partition, as its leader and its followers have it.",
            "sequence": "of the first record.",
            "delta": "of the last offset from the first.",
            "coordinator_epoch": "that the marker carries.",
            "to": "how many batches the new leader has.",
            "known": "its high watermark, in batches.",
            "i": "a position.",
            "j": "a position that is not before it.",
        },
        "spec.systems.produce_facts": {"of": "the request as a whole: what it says beside its batch."},
        "spec.systems.renaming_facts": {
            "asking": "everything that the decision is asked with.",
            "names": "the producer ids that it may read and write.",
            "others": "those that stand in their place.",
        },
        "spec.systems.step_facts": {
            "before": "what the coordinator has in memory and in its log.",
            "step": "the request, and how its append ends.",
        },
        "spec.systems.transition_facts": {
            "name": "of the fact.",
            "move": "the decision: from what it is asked with to the state after.",
            "premise": "what is asked of its inputs, beside being possible.",
            "asking": "everything that the decision is asked with.",
            "names": "the producer ids that it may read and write.",
        },
        "spec.systems.replication": {
            "world": "all replicas, the controller, and what they have told each other.",
            "one": "a replica.",
            "other": "another, or the same.",
            "leader": "a replica that takes itself for the leader.",
            "follower": "a replica.",
        },
        "spec.systems.transactions": {
            "view": "the state of the system, and what is asked of it.",
            "instance": "of the client: each has the transactional id in turn.",
            "txn": "a client's transaction, by its number, or a bump that it has asked for.",
            "batch": "its number among those of the transaction to the partition, from 0.",
            "fate": "how the append to the coordinator's log ends.",
            "decision": "a transaction that the coordinator has decided, by its number.",
            "coordinator": "the coordinator's epoch.",
            "reader": "which one: of committed data, or of all.",
            "request": "what arrives: data, or consumed offsets.",
            "p": "a partition.",
            "b": "a batch of the transaction there.",
            "q": "another partition, or the same.",
            "c": "a batch of the transaction there.",
        },
        "spec.systems.transactions.group_claims": {"other": "another partition of the transaction."},
        "spec.systems.transactions.reader_lemmas": {
            "other": "another transaction, or the same.",
            "another": "a batch of that one.",
        },
        "spec.systems.transactions.broken": {
            "name": "what is wrong, in a line.",
            "violates": "the claim that no longer holds.",
            "knobs": "of the system that shows it.",
            "left_to_tests": "whether `eos prove` leaves it to the tests.",
        },
    }
)
"""By package or module, the nearest one first; then by name."""


def meanings(module: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What each argument of a function of this module means; those that nobody says are left out."""
    nearest = sorted((each for each in SHARED if f"{module}.".startswith(f"{each}.")), key=len, reverse=True)
    for name in names:
        said = next((SHARED[each][name] for each in nearest if name in SHARED[each]), None)
        if said is not None:
            yield name, said


def arguments(node: ast.FunctionDef) -> tuple[str, ...]:
    """The names of a function's arguments, without the one that it is called on."""
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return tuple(each.arg for each in every if each.arg not in ("self", "cls"))


def with_arguments(module: str, node: ast.FunctionDef, docstring: str) -> str:
    """A docstring with what its arguments mean, where it has many and does not say so itself."""
    names = arguments(node)
    shared = dict(meanings(module, names))
    if len(names) < MANY or "Args:" in docstring or not shared:
        return docstring
    return "\n".join((docstring, "", "Args:", *(f"    {name}: {said}" for name, said in shared.items())))
