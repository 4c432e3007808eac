"""The command `eos prove theorem`: every link of the chain, proved, with its control and what stays in words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.verify.proofs import ProofAttempt, attempted
from model_tests.verify.prove import ANSWERS
from model_tests.verify.proved import ProvedSystem, beneath, open_among, why_open
from model_tests.verify.proving import Spread, on_cores
from model_tests.verify.theorems import CLAIMED, SYSTEMS, lines
from spec.engines.induction import Obligation
from spec.engines.proof_cache import read, write
from spec.engines.solving import SolverSettings
from spec.systems.assumptions import Assumption, ids
from spec.systems.chain import LINKS, THEOREM, ChainLink, left, systems


@dataclass(frozen=True, slots=True)
class ProvedLink:
    """A link and the obligations beneath both of its sides.

    Attributes:
        missing: what it names and nothing proves.
    """

    link: ChainLink
    obligations: tuple[Obligation, ...]
    missing: tuple[str, ...]

    @property
    def wrong(self) -> tuple[str, ...]:
        """What is open or missing, a line each."""
        absent = (f"{name} is no theorem and no lemma of steps" for name in self.missing)
        return (*absent, *(why_open(each) for each in open_among(self.obligations)))


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What `eos prove theorem` found.

    Attributes:
        contradictions: what would prove anything, a line each.
    """

    links: tuple[ProvedLink, ...]
    assumptions: tuple[Assumption, ...]
    contradictions: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Whether every link holds."""
        return VIOLATED if self.contradictions or any(each.wrong for each in self.links) else HOLDS

    def to_json(self) -> dict[str, object]:
        """The chain as plain values.

        Fields:
            theorem: the theorem in one sentence
            links[].name: what the link is about
            links[].sentence: what it says
            links[].shows.*[]: what is proved on its one side, by system
            links[].takes.*[]: what is proved on its other side, by system: that it needs no more
            links[].formula: the function that both sides are instances of; empty where the link has one side
            links[].in_words: what relates the two sides, and is not proved
            links[].discharges[]: assumptions that are none any more, by number
            links[].control: what breaks the link, and its system
            links[].obligations: how many are beneath it
            links[].wrong[]: what is not proved, a line each
            assumptions[]: what the theorem takes for granted, by number
            contradictions[]: what would prove anything, a line each
        """
        return {
            "theorem": THEOREM,
            "links": [
                {
                    "name": each.link.name,
                    "sentence": each.link.sentence,
                    "shows": {system: list(names) for system, names in each.link.shows.items()},
                    "takes": {system: list(names) for system, names in each.link.takes.items()},
                    "formula": each.link.formula,
                    "in_words": each.link.in_words,
                    "discharges": ids(each.link.discharges),
                    "control": str(each.link.control),
                    "obligations": len(each.obligations),
                    "wrong": list(each.wrong),
                }
                for each in self.links
            ],
            "assumptions": ids(self.assumptions),
            "contradictions": list(self.contradictions),
        }

    def print(self, console: Console) -> None:
        """The theorem, a row for each link, what stays in words, and the assumptions."""
        sides = (Column("shows", overflow="fold"), Column("takes", overflow="fold"))
        table = Table("link", *sides, "obligations", "verdict", "discharges")
        for each in self.links:
            verdict = "open" if each.wrong else "proved"
            names = (_side(each.link.shows), _side(each.link.takes))
            table.add_row(
                each.link.name, *names, str(len(each.obligations)), verdict, ", ".join(ids(each.link.discharges))
            )
        console.print(THEOREM, markup=False, soft_wrap=True)
        console.print(table)
        for line in self._lines():
            console.print(line, markup=False, soft_wrap=True)

    def _lines(self) -> Iterator[str]:
        for each in self.links:
            yield f"{each.link.name}: {each.link.sentence}"
            yield f"  in words: {each.link.in_words}"
            yield f"  broken by: {each.link.control}"
            yield from (f"  {line}" for line in each.wrong)
        yield from self.contradictions
        yield f"The theorem assumes {', '.join(ids(self.assumptions))}"
        yield from lines(self.assumptions)


def _side(names: Mapping[str, tuple[str, ...]]) -> str:
    return "\n".join(f"{system}.{name}" for system, some in names.items() for name in some)


def run(kept: Path | None = ANSWERS, *, seed: int = 0, spread: Spread = on_cores) -> ChainReport:
    """Prove every link of the chain.

    Args:
        kept: where the answers of earlier runs are; `None` solves everything and keeps nothing.
        seed: of the solver's chance.
        spread: where the obligations are solved.
    """
    entries, _ = (None, "") if kept is None else read(kept)
    rules = {theorem.rule for name in systems() for theorem in SYSTEMS[name](CLAIMED).theorems}
    attempt = attempted(rules, spread, SolverSettings(seed=seed), entries)
    if kept is not None:
        write(kept, {**(entries or {}), **attempt.answers})
    return reported(attempt)


def assumed() -> tuple[Assumption, ...]:
    """What the theorem assumes: the assumptions of its systems but for those that a link discharges."""
    return left(one for name in systems() for one in SYSTEMS[name](CLAIMED).assumptions)


def reported(attempt: ProofAttempt) -> ChainReport:
    """The chain, as far as it is proved.

    Args:
        attempt: the proofs of its systems.
    """
    proved = {each.system.name: each for each in attempt.proofs.systems}
    links = tuple(_proved(link, proved) for link in LINKS)
    return ChainReport(links, assumed(), attempt.contradictions)


def _proved(link: ChainLink, proved: Mapping[str, ProvedSystem]) -> ProvedLink:
    sides = [(proved[system], names) for side in (link.shows, link.takes) for system, names in side.items()]
    found = tuple(o for system, names in sides for o in _beneath(system, names, proved))
    missing = tuple(
        f"{system.system.name}.{name}" for system, names in sides for name in names if name not in _known(system)
    )
    return ProvedLink(link, tuple(dict.fromkeys(found)), missing)


def _beneath(system: ProvedSystem, names: Iterable[str], proved: Mapping[str, ProvedSystem]) -> Iterator[Obligation]:
    """What is proved of these names, and of all that the system takes from another one."""
    yield from beneath(system.obligations, (*names, *(claim.name for claim in system.system.lemmas)))
    if system.system.taken_from:
        lender = proved[system.system.taken_from]
        yield from beneath(lender.obligations, (claim.name for claim in system.system.taken))


def _known(system: ProvedSystem) -> set[str]:
    return {each.claim for each in system.obligations}
