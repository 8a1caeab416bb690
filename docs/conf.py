"""The documentation site: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``. It is built offline."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import members  # noqa: E402

PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = PROJECT["name"]
author = PROJECT["authors"][0]["name"]
project_copyright = author
release = version = PROJECT["version"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "commands",
    "gallery",
    "links",
    "offline",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "py:obj"

# The reference.
autosummary_generate = True
autosummary_context = {
    "members_of": members.MEMBERS,
    "kinds": members.kinds(),
    "not_constructed": members.NOT_CONSTRUCTED,
}
autodoc_typehints = "none"  # numpydoc has the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of classes lists them

# Pages and notebooks. What notebooks store is shown; nothing is executed.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"
nb_ipywidgets_js = {}  # would load scripts from elsewhere
nb_merge_streams = True

html_theme = "pydata_sphinx_theme"
html_title = "traveltime_lab"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # without it, the theme reports an error on the console
html_theme_options = {
    "logo": {"text": f"traveltime_lab {release}"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "show_prev_next": True,
}
html_sidebars = {"coming-from": [], "changelog": [], "getting-started": []}
