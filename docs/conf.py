"""Configuration of the published specification. Nothing is fetched: the site builds and reads offline."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Kafka's exactly-once"
author = "the contributors"
project_copyright = "the contributors, Apache License 2.0"
release = installed("kafka-exactly-once")
version = release

extensions = ["myst_parser", "rule_pages", "schema_tables", "provenance"]
exclude_patterns = ["_ext"]
source_suffix = {".md": "markdown"}
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

nitpicky = True
pygments_style = "friendly"
pygments_dark_style = "native"

html_theme = "furo"
html_title = "Kafka's exactly-once"
html_static_path = ["_static"]
html_css_files = ["rules.css"]
html_copy_source = False
html_show_sphinx = False
