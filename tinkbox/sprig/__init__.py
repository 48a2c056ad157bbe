"""The functions of Sprig v3.3.0 for templates: FUNCTIONS by name, and REFUSED names with the reason.

Each function takes Go values (nil, bool, int, float, str, list, dict) by position and gives one, or raises GoError.
Together the two mappings have the names of Sprig's TxtFuncMap. tests/golden/sprig holds what real Sprig answered.

No result is larger than 1 MiB of text or 100 000 elements, none depends on clock, randomness, environment or
network. Beyond that these differences are on purpose:

- There is one kind of integer, of list and of map. int64 and uint64 are int to typeOf and kindOf, `[]string` and
  `[]int` are `[]interface {}`; equal integers are equal. A function that wants an int takes any int64, one that wants
  a float64 takes an integer. `duration` and `durationRound` take any integer, where Go takes an int64 only.
- Lists are never nil, so that toJson shows `rest` of an empty list or no match of a regular expression as `[]`.
- `keys` and `values` follow the order of the keys, where Go has none.
- `semver` gives a map with the keys Major, Minor, Patch, Prerelease, Metadata and Original; it has no other methods.
- What would end Go's program or its template with an index or memory fault is a GoError in words of our own, and so is
  JSON that cannot be read. `chunk` refuses a size below 1, a constraint on versions may have 1000 characters.
- A regular expression sees no character in a byte that is no UTF-8; groups may share a name, which need not be ASCII.
- `atoi` of digits beyond uint64 with something else behind them is 0; `round` to more than 22 places may differ in the
  last bit; `fromJson` of a number beyond float64 is nil, however much of the rest could be read.
"""

from collections.abc import Mapping

from tinkbox.sprig import (
    arithmetic,
    basecodes,
    constraints,
    defaults,
    dicts,
    digests,
    durations,
    floats,
    jsontext,
    lettercase,
    lists,
    merging,
    paths,
    reflection,
    regexes,
    semver,
    strings,
    text_layout,
    urls,
    wordcase,
)
from tinkbox.sprig.arguments import Function
from tinkbox.sprig.refused import REFUSED

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
