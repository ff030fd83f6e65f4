"""The documentation site: `make docs` builds it from the pages as they lie, those of docs/, spec/ and the README beside each thing.

In: the repository (its root is the source folder) and the installed package; out: HTML. Invariants: a link that leads nowhere is an error;
nothing is fetched while it is built or read.
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import neural_compiler

project = "Neural Compiler"
author = "the authors of Neural Compiler"
copyright = "the authors of Neural Compiler; MIT or Apache-2.0"
release = neural_compiler.__version__

root_doc = "docs/site/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/**.md",
    "docs/notebooks/*.ipynb",
    "spec/*.md",
    "bench/README.md",
    "examples/README.md",
    "examples/fits/README.md",
    "experiments/README.md",
    "fuzz/README.md",
    "oracles/*/README.md",
]

extensions = ["myst_nb", "sphinx.ext.autodoc", "docstrings", "folders"]
myst_heading_anchors = 4
# The tests run the notebooks; what they showed is stored in them.
nb_execution_mode = "off"
# Pages are read on their own too: a page may begin below the first level, and a block may hold more than its language.
suppress_warnings = ["myst.header", "misc.highlighting_failure", "mystnb.unknown_mime_type", "toc.empty_glob"]

# "--quick" is no dash, and a quote in code is what it is.
smartquotes = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("ArrayLike", "DTypeLike", "NDArray", "Inputs", "Value", "Tensor")}
python_maximum_signature_line_length = 100
add_module_names = False

html_theme = "furo"
html_title = "Neural Compiler"
html_static_path = ["static"]
# The front page is not at the root of the sources: one that leads there.
html_extra_path = ["extra"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options: dict[str, Any] = {"navigation_with_keys": True}
templates_path: list[str] = []
