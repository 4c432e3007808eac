"""Configuration of the published specification. Nothing is fetched: the site builds and reads offline."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT)]

project = "Kafka's exactly-once"
author = "the contributors"
project_copyright = "the contributors, Apache License 2.0"
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.doctest",
    "references",
    "run_results",
    "rule_pages",
    "drawings",
    "bug_pages",
    "proof_pages",
    "chain_pages",
    "judged_pages",
    "scenario_pages",
    "shown_drawings",
    "decision_tables",
    "outcome_tables",
    "client_tables",
    "state_graph",
    "version_tables",
    "probe_tables",
    "source_tables",
    "schema_tables",
    "report_schemas",
    "provenance",
    "covered",
    "kip_pages",
    "api_pages",
    "audit_tables",
    "bench_page",
    "derived_pages",
    "internal_links",
    "line_breaks",
]
exclude_patterns = ["_ext"]
source_suffix = {".md": "markdown"}
root_doc = "index"
primary_domain = "eos"

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

nitpicky = True
smartquotes_action = "q"  # quotes alone: two hyphens begin an option of a command
highlight_language = "text"  # a block without a language is a drawing or an output
pygments_style = "friendly"
pygments_dark_style = "native"

html_theme = "furo"
html_title = "Kafka's exactly-once"
html_static_path = ["_static"]
html_css_files = ["rules.css"]
html_copy_source = False
html_use_index = False
html_show_sphinx = False
