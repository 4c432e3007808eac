"""The Java that Spark needs: found before a session is started, or named in one line."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from model_tests.common.reports import BadInput

OLDEST: Final = 17  # Spark 4 needs Java 17

HOW: Final = (
    "apt-get install openjdk-17-jre-headless, or brew install openjdk@17, "
    "or sdk install java 17-tem (and see JAVA_HOME)"
)

_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""The variable whose options Spark's launcher gives to the JVM that it starts."""

_BRIEF: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For little work: to compile code a second time, faster, would cost more than it saves."""

VARIABLES: Final = (_OPTIONS, "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""By which the environment gives options to the JVM that Spark starts."""

_LEAST_WORK: Final = "-XX:+UseParallelGC"
"""It stops the program where the usual one works beside it: no one waits for a single answer here."""


def expect_little() -> None:
    """Have Spark sessions that are still to be made start fast rather than run long, unless the environment says."""
    os.environ.setdefault(_OPTIONS, _BRIEF)


def collector() -> str:
    """The option for the garbage collector that takes least of all cores' time; none where one is chosen already."""
    chosen = any("GC" in os.environ.get(name, "") for name in VARIABLES)
    return "" if chosen else _LEAST_WORK


def require_java() -> None:
    """Raise `BadInput` unless the Java that Spark would start is recent enough."""
    version = _version(_executable())
    major = re.split(r"\D", version, maxsplit=1)[0]
    if int(major or 0) < OLDEST:
        raise BadInput(f"Java >= {OLDEST} is needed; found: {version or 'none'}. Try {HOW}")


def java_command() -> str:
    """The Java to start.

    Raises:
        BadInput: there is none that is recent enough.
    """
    require_java()
    return _executable() or "java"


def _executable() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home) / "bin" / "java") if home else "java")


def _version(java: str | None) -> str:
    if java is None:
        return ""
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "([^"]+)"', printed.stderr + printed.stdout)
    return found[1] if found else ""
