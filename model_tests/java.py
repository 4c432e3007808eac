"""The Java that Spark needs: found before a session is started, or named in one line."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from model_tests.reports import BadInput

OLDEST: Final = 17

HOW: Final = (
    "apt-get install openjdk-17-jre-headless, or brew install openjdk@17, "
    "or sdk install java 17-tem (and see JAVA_HOME)"
)

_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""The variable whose options Spark's launcher gives to the JVM that it starts."""

_BRIEF: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For little work: to compile code a second time, faster, would cost more than it saves."""


def expect_little() -> None:
    """Have Spark sessions that are still to be made start fast rather than run long, unless the environment says."""
    os.environ.setdefault(_OPTIONS, _BRIEF)


def require_java() -> None:
    """Raise `BadInput` unless the Java that Spark would start is recent enough."""
    version = _version(_executable())
    major = re.split(r"\D", version, maxsplit=1)[0]
    if int(major or 0) < OLDEST:
        raise BadInput(f"Java >= {OLDEST} is needed; found: {version or 'none'}. Try {HOW}")


def _executable() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home) / "bin" / "java") if home else "java")


def _version(java: str | None) -> str:
    if java is None:
        return ""
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "([^"]+)"', said.stderr + said.stdout)
    return found[1] if found else ""
