"""The functions of Sprig v3.3.0 for templates: FUNCTIONS by name, and REFUSED names with the reason.

Each function takes Go values (see gotemplate/values.py) by position and gives one, or raises GoError. Together the two
mappings have the names of Sprig's TxtFuncMap. tests/golden/sprig holds what real Sprig answered, `make campaign` asks it anew.

Callers who are no Go template, Jinja2's, have one kind of integer; it fits where an int, a float64 or an int64 is wanted.

FUNCTIONS are those that depend on their arguments alone.  `all_functions` has the rest as well: what depends on clock and chance,
and takes these from its `Surroundings`, keys, passwords and certificates.  None depends on environment or network.

No result is larger than 1 MiB of text or 100 000 elements. Beyond that these differences are on purpose:

- Local time is UTC. What Go gives as time.Time has most of its methods; the moment has microseconds, and no monotonic clock.
- `keys` and `values` follow the order of the keys, where Go has none.
- A version has Go's methods, but no fields: no verb of printf shows them, and a deep copy is the same version.
- What would end Go's program or its template with an index or memory fault is a GoError in words of our own, and so is
  JSON that cannot be read. A constraint on versions may have 1000 characters.
- Groups of a regular expression may share a name, which need not be ASCII.
- `round` to more than 22 places may differ in the last bit; `fromJson` of a number beyond float64 is nil, however much of
  the rest could be read.
"""

from collections.abc import Mapping

from tinkbox.sprig import defaults, reflection
from tinkbox.sprig.arguments import Function
from tinkbox.sprig.collections import dicts, lists, merging
from tinkbox.sprig.cryptography import digests
from tinkbox.sprig.dates import durations
from tinkbox.sprig.numbers import arithmetic, floats
from tinkbox.sprig.refused import REFUSED
from tinkbox.sprig.text import basecodes, jsontext, lettercase, paths, regexes, strings, text_layout, urls, wordcase
from tinkbox.sprig.versions import constraints, semver

__all__ = ["FUNCTIONS", "REFUSED", "Function"]

FUNCTIONS: Mapping[str, Function] = {
    **defaults.FUNCTIONS,
    **strings.FUNCTIONS,
    **lettercase.FUNCTIONS,
    **wordcase.FUNCTIONS,
    **text_layout.FUNCTIONS,
    **regexes.FUNCTIONS,
    **arithmetic.FUNCTIONS,
    **floats.FUNCTIONS,
    **lists.FUNCTIONS,
    **dicts.FUNCTIONS,
    **merging.FUNCTIONS,
    **jsontext.FUNCTIONS,
    **basecodes.FUNCTIONS,
    **digests.FUNCTIONS,
    **paths.FUNCTIONS,
    **urls.FUNCTIONS,
    **semver.FUNCTIONS,
    **constraints.FUNCTIONS,
    **durations.FUNCTIONS,
    **reflection.FUNCTIONS,
}
