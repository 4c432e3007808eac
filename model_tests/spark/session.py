"""The Spark session: the one place where it is made and configured.

Executors that do not have the project's code receive it as one archive, sent once and placed first on their path.
"""

import atexit
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from model_tests.common.java import collector, require_java

# --- the project's code for executors ---------------------------------------------------------------------------------


PACKAGES: Final = ("spec", "reference", "model_tests")

ARCHIVE: Final = "kafka_exactly_once.zip"

_LEFT_HERE: Final = ("model_tests/unit/",)
"""Tests stay where they are."""


def ship(context: SparkContext) -> None:
    """Give the executors the source that runs here, unless `--py-files` has brought it."""
    root = _root()
    if root.is_dir():
        lasting = Path(tempfile.mkdtemp(prefix="eos-ship-"))  # an executor that starts later fetches it, too
        atexit.register(shutil.rmtree, lasting, ignore_errors=True)
        context.addPyFile(str(archive(root, lasting / ARCHIVE)))


def archive(root: Path, file: Path) -> Path:
    """Write every module of the project into a file that Python imports from."""
    with ZipFile(file, "w", ZIP_DEFLATED) as content:
        for package in PACKAGES:
            for source in sorted((root / package).rglob("*.py")):
                name = source.relative_to(root).as_posix()
                if not name.startswith(_LEFT_HERE):
                    content.write(source, name)
    return file


def _root() -> Path:
    """The folder in which the packages stand, or an archive of them."""
    return Path(str(import_module(PACKAGES[0]).__file__)).parent.parent


# --- the session ------------------------------------------------------------------------------------------------------


_LONG_METHODS: Final = "org.apache.spark.sql.catalyst.expressions.codegen"
"""The logger of methods that grew too long to be compiled, which Spark then evaluates in parts."""

_LOGGING: Final = f"""
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{{1}}: %m%n
logger.codegen.name = {_LONG_METHODS}
logger.codegen.level = off
"""
"""The configuration of logging: errors only, and none about long methods."""

LOCAL: Final = "local[*]"

_HERE: Final = ("local[", "local\n")
"""The beginnings of masters that run tasks in this process, with its code."""

SHUFFLE_PARTITIONS: Final = 8
"""A batch of traces is small for Spark's default of 200: each partition costs milliseconds."""

_COMPILE_ALL: Final = "-XX:-DontCompileHugeMethods"

_SETTINGS: Final = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.executor.extraJavaOptions": _COMPILE_ALL,
    # One check compiles more than a hundred classes; an evicted class is compiled again by the next check.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Facts about columns that follow from other facts: of hundreds of parts they take half of the optimizer's time.
    "spark.sql.constraintPropagation.enabled": "false",
    # Where in the Python and Java code each part of a formula was made is asked thousands of times for one decision.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    # One method for all parts of a union is longer than Java allows, and then no part is compiled as a whole.
    "spark.sql.codegen.wholeStage.union.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


_LONGEST: Final = 60
"""Characters of a directory in which paths of sockets are as short as every system wants them."""

_STDERR: Final = 2
"""The file descriptor of standard error, which a JVM inherits."""

_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""The variable by which `spark-submit` signals that its JVM is up."""


def session(master: str = LOCAL) -> SparkSession:
    """The running session, or a new one on `master`; under `spark-submit`, `LOCAL` leaves the choice to it.

    Raises:
        BadInput: there is no Java that Spark can run on.
    """
    running = SparkSession.getActiveSession()
    return running if running is not None else _new_session(master)


def _new_session(master: str) -> SparkSession:
    require_java()
    submitted = _submitted()
    if master == LOCAL and submitted is not None:
        master = str(submitted.get("spark.master", LOCAL))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scratch = Path(tempfile.gettempdir()) / f"eos-spark-{os.getuid()}"
    logging = _written(scratch / "log4j2.properties")
    settings = _SETTINGS | {
        "spark.driver.extraJavaOptions": f"{_COMPILE_ALL} {collector()} -Dlog4j2.configurationFile=file:{logging}",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch),
        **_to_python_workers(master),
    }
    builder = SparkSession.Builder().appName("eos").master(master)
    for name, value in settings.items():
        if submitted is None or not submitted.contains(name):
            builder = builder.config(name, value)
    with _java_writes_to(scratch / f"spark-{os.getpid()}.log"):
        created = builder.getOrCreate()
    created.sparkContext.setLogLevel("ERROR")
    _say_nothing_of_long_methods(created.sparkContext)
    if not f"{created.sparkContext.master}\n".startswith(_HERE):
        atexit.register(created.stop)  # so that the cluster frees the executors at once
        ship(created.sparkContext)
    return created


@contextmanager
def _java_writes_to(log: Path) -> Iterator[None]:
    """Have a JVM that is started here write its standard error to a file, and so its Python workers.

    Java and Spark announce modules and log levels there, and workers whose query ended early leave tracebacks of closed
    pipes. What goes wrong comes back as an exception; the file has the rest, and is named where Spark does not start.
    """
    if SparkContext._gateway is not None:
        yield
        return
    sys.stderr.flush()
    ours = os.dup(_STDERR)
    with log.open("wb") as file:
        os.dup2(file.fileno(), _STDERR)
    try:
        yield
    except Exception as error:
        error.add_note(f"what Spark wrote is in {log}")
        raise
    finally:
        os.dup2(ours, _STDERR)
        os.close(ours)
    atexit.register(log.unlink, missing_ok=True)


def _to_python_workers(master: str) -> dict[str, str]:
    """Unix sockets, if tasks run on this machine: over TCP each side waits 40 ms for data that the other holds back."""
    if not hasattr(socket, "AF_UNIX") or not f"{master}\n".startswith(_HERE):
        return {}
    directory = tempfile.mkdtemp(prefix="eos-sockets-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    usable = "true" if len(directory) <= _LONGEST else "false"
    named = "spark.python.unix.domain.socket"
    return {f"{named}.enabled": usable, f"{named}.dir": directory}


def _say_nothing_of_long_methods(context: SparkContext) -> None:
    """Silence the logger as `_LOGGING` does, which comes too late for the JVM of `spark-submit`."""
    log4j = context._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    log4j.core.config.Configurator.setLevel(_LONG_METHODS, log4j.Level.OFF)


def _submitted() -> SparkConf | None:
    """The configuration of `spark-submit`; nothing where it did not start this process."""
    if _SUBMITTED not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return SparkConf()


def _written(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_LOGGING)
    return file
