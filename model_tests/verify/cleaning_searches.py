"""Explicit and bounded search of a compacted partition."""

from functools import partial
from typing import Final

from model_tests.verify.model_checking import Instanced, Searched, SearchInstance, SystemMutation, depths
from spec import rules
from spec.engines.finite import instance_of
from spec.evidence import Layer, evidences
from spec.systems import cleaning
from spec.versions import KAFKA_2_7


def compacted(name: str, knobs: cleaning.CleaningKnobs) -> Instanced:
    """A partition that is cleaned."""
    system = cleaning.cleaning(knobs)
    return Instanced(name, system, system, instance_of(system, cleaning.sizes(knobs)))


_TRUE: Final = partial(compacted, "four records", cleaning.CleaningKnobs())
_KEYS: Final = partial(compacted, "KAFKA-14055: keys of markers are compared", cleaning.CleaningKnobs(KAFKA_2_7))


@evidences(rules.LSO_DECIDED_BELOW, Layer.BOUNDED)
@evidences(rules.LSO_READ_COMMITTED, Layer.BOUNDED)
def searched() -> Searched:
    """What was decided stays decided, and what can be read stays, whatever the cleaner leaves."""
    return Searched(
        rules=(rules.LSO_DECIDED_BELOW, rules.LSO_READ_COMMITTED),
        instances=(SearchInstance("four records", _TRUE, depths(0, 0, 0), whole=True),),
        broken=(SystemMutation("decided_stays_decided", _KEYS),),
    )
