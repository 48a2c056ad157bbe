"""Go's text/template language, for texts that were written for Go.

`parse()` reads a template, `Template.render()` executes it with data; both raise TemplateError and nothing else.
`missingkey=error` is always on. Rendering is bounded by Limits. The package does no I/O and knows neither clock,
randomness nor environment; values.py says which Python values stand for which of Go.
"""

from tinkbox.gotemplate.errors import GoError, TemplateError
from tinkbox.gotemplate.limits import Limits
from tinkbox.gotemplate.template import Template, parse

__all__ = ["GoError", "Limits", "Template", "TemplateError", "parse"]
