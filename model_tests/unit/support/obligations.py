"""One obligation of a proof, without the others."""

from spec.engines.induction import ALWAYS, Obligation, Prover
from spec.systems.language import System


def obligation(prover: Prover, system: System, name: str) -> Obligation:
    """The obligation of this name, which alone goes to the solver.

    Args:
        prover: of the system.
        system: whose claims and actions the name is of.
        name: a claim "under" an action, or of a theorem "under in every state".

    Raises:
        StopIteration: the system has no such claim or action.
    """
    claim, _, action = name.partition(" under ")
    if action == ALWAYS:
        return prover._follows(system.claim(claim))
    return prover.keeps(system.claim(claim), system.action(action))
