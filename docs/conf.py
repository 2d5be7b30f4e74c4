"""How Sphinx builds these pages."""

project = "trimtab"
author = "trimtab authors"
copyright = "2026, trimtab authors"
release = "0.1.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

# Docstrings put names of any kind in single backticks.
default_role = "code"
# Annotations name classes that are imported for type checkers only: Sphinx can't resolve them.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "trimtab"
