"""The meaning of each field in the report of `eos prove`, by its place; `*` stands for a key that is a name."""

from collections.abc import Mapping
from typing import Final

SECONDS: Final = "seconds that it took"


def under(place: str, meanings: Mapping[str, str]) -> dict[str, str]:
    """The meanings of the fields of one place."""
    return {f"{place}.{name}": meaning for name, meaning in meanings.items()}


OF_PROOFS: Final[Mapping[str, str]] = {
    **under(
        "obligations[]",
        {
            "rule": "the rule that it is beneath",
            "lemma": "what is to be proved: a lemma, a theorem, a fact",
            "action": "under which action; or at the start, in every state, for all inputs",
            "verdict": "`proved`, `refuted` or `unknown`; only the first is a success",
            "solved": "the solver was asked: the action changes the formula, and no answer was kept",
            "seconds": SECONDS,
            "kept": "the answer is of an earlier run, to the same question",
            "needs[]": "lemmas that the solver used, besides the lemma itself before the action",
        },
    ),
    **under(
        "theorems[]",
        {
            "name": "a theorem that is proved",
            "rule": "whose it is",
            "system": "of which system it is a theorem",
            "sentence": "what it says",
            "assumptions[]": "what its proof takes for granted, by number",
        },
    ),
    **under(
        "assumptions[]",
        {
            "id": "number of what some result takes for granted; no two have the same",
            "name": "in a few words",
            "statement": "what is assumed",
            "systems[]": "the systems that are searched under it, and the proofs that take it for granted",
            "controls[].system": "the system that breaks without it; `bugs` for a known bug",
            "controls[].name": "what is changed there",
            "no_control": "why there can be no control, where there is none",
        },
    ),
    "vacuous[]": "what is claimed of nothing, or would prove anything, a line each; any of them is a failure",
    **under(
        "results[]",
        {
            "rule": "the rule",
            "evidence": "the kind of evidence",
            "verdict": "`proved`, `holds`, `violated` or `unknown`",
            "seconds": SECONDS,
            "figures.*": "what was proved or searched, by name",
            "detail": "of a failure, where; of a proof of facts alone, that it assumes nothing",
            "assumptions[]": "what the proof, or the system that was searched, takes for granted, by number",
        },
    ),
    **under(
        "controls[]",
        {
            "name": "what was changed",
            "rule": "the rule that this must break",
            "system": "the system that is changed; empty where it is a single decision",
            "expected": "what must be found",
            "got": "what was found",
            "detail": "the shortest run that violates it",
        },
    ),
    **under(
        "earlier[]",
        {
            "rule": "the rule",
            "version": "the transaction version",
            "verdict": "`proved`; `known`, if a run violates what is not claimed of it; else a failure",
            "obligations": "how many are beneath the rule",
            "assumptions[]": "what the proof that was tried takes for granted, by number",
            "open[].lemma": "of an obligation that fails under the version, the lemma",
            "open[].action": "the action that does not keep it",
            "open_there[].lemma": "likewise, of what fails only where the run is from (`where`)",
            "open_there[].action": "its action",
            "theorem": "what the run violates; empty without a run",
            "searched": "states of the instance that has no such run, where one was looked for in vain first",
            "where": "what else is changed where the run is from; empty for nothing",
            "trace[]": "the run, an action each",
            "lost[].lemma": "a lemma of those that fail, which the run loses",
            "lost[].action": "under which action",
            "lost[].step": "at which step of the run, the first one being 1",
        },
    ),
    "notes[]": "what is to be known about the run itself",
}
