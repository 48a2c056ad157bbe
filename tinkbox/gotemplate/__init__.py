"""Go's text/template language, for texts that were written for Go.

`parse()` reads a template, `Template.render()` executes it with data; both raise TemplateError and nothing else,
unless a function that was given to them has a bug.
A missing key is always an error. Rendering is bounded by Limits. The package does no I/O and knows neither clock,
randomness nor environment; values.py says which Python values stand for which of Go.

    source -> lexer -> reader -> pipelines, parser -> nodes -> execution, with functions, variables and limits

Different from Go on purpose: there are no complex numbers and nothing to `call`; `slice` ends at the length,
not at the capacity; sources are nested 100 levels deep at most.
"""

from tinkbox.gotemplate.errors import GoError, TemplateError
from tinkbox.gotemplate.execution.limits import Limits
from tinkbox.gotemplate.template import Template, parse

__all__ = ["GoError", "Limits", "Template", "TemplateError", "parse"]
