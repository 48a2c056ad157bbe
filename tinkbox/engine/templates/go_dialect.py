"""Templates in Go's language: Sprig's hermetic functions, and those that Tinkerbell and EKS Anywhere add."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any

from tinkbox import goyaml
from tinkbox.engine.templates.secret_marks import KIND, REFERENCES, SECRET, Marks
from tinkbox.engine.templates.surroundings import now, surroundings
from tinkbox.gotemplate import GoError, Limits, TemplateError, parse
from tinkbox.model.documents.loose_values import mapping_of
from tinkbox.model.documents.machine_views import go_views
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.template import MAX_TEXT
from tinkbox.sprig import REFUSED
from tinkbox.sprig.all_functions import NAMES as SPRIG
from tinkbox.sprig.all_functions import functions as sprig_functions
from tinkbox.sprig.arguments import typed
from tinkbox.sprig.surroundings import Surroundings
from tinkbox.sprig.text.regexes import bounded_work

MAX_YAML = 256 * 1024  # characters
MAX_SECONDS = 2  # of processor time for one rendering, and twice what its keys and passwords should take
LIMITS = Limits(output_bytes=MAX_TEXT)
# In what is said of a failure.
_OF_REFERENCES = re.compile(r"at <\.references\.(?P<called>[^.>]+)")
MAX_TOLD = 20  # keys of a Secret
TOO_MUCH_MEMORY = "rendering takes too much memory"


def format_partition(device: str, number: int) -> str:
    """`/dev/sda` and 1 are `/dev/sda1`, `/dev/nvme0n1` and 1 `/dev/nvme0n1p1`, below /dev/disk it is `-part1`."""
    if device.startswith("/dev/disk/"):
        return f"{device}-part{number}"
    return f"{device}p{number}" if device.endswith(tuple("0123456789")) else f"{device}{number}"


def netmask_to_prefix_length(netmask: str) -> str:
    """`255.255.255.0` is `24`, and a mask with holes `0`, as in Tinkerbell."""
    try:
        address = ip_address(netmask)
    except ValueError:
        raise GoError(f"invalid netmask: {netmask[:40]}") from None
    mask = address.ipv4_mapped if isinstance(address, IPv6Address) else address
    if mask is None:
        raise GoError(f"invalid netmask: {netmask[:40]} is of IPv6")
    ones = f"{int(mask):032b}".rstrip("0")
    return "0" if "0" in ones else str(len(ones))


class Yaml:
    """YAML for one rendering, `most` characters of it in all: reading and writing it is slow.

    `floats`: every number that is read is a float64, as in Go; else whole numbers stay so.  Raises GoError for what is no YAML
    and when there is too much.
    """

    def __init__(self, most: int = MAX_YAML, *, floats: bool = True) -> None:
        self._most = most
        self._left = most
        self._floats = floats

    def renew(self) -> None:
        """Begin another rendering."""
        self._left = self._most

    def write(self, value: object) -> str:
        """Blocks with sorted keys, without the line end at the end."""
        try:
            text = goyaml.write(value, self._left)
        except goyaml.TooMuch:
            raise self._too_much() from None
        self._pay(len(text))
        return text.removesuffix("\n")

    def read(self, text: str) -> object:
        """The value of the first document, nil when there is none."""
        if not text:
            raise GoError("expected YAML, not an empty text")
        self._pay(len(text))
        return goyaml.read(text, floats=self._floats)

    def _pay(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise self._too_much()

    def _too_much(self) -> GoError:
        return GoError(f"more than {self._most // 1024} KiB of YAML")


def own_functions(of_yaml: Yaml) -> Mapping[str, Callable[..., Any]]:
    """The functions that Tinkerbell and EKS Anywhere add to Sprig's."""
    to_prefix_length = typed(netmask_to_prefix_length, "string")
    return {
        "formatPartition": typed(format_partition, "string", "int"),
        "netmaskToPrefixLength": to_prefix_length,
        # What EKS Anywhere calls it.
        "netmaskToCIDR": to_prefix_length,
        "toYaml": typed(of_yaml.write, "any"),
        "fromYaml": typed(of_yaml.read, "string"),
    }


_BUILTIN = frozenset(
    [
        "call",
        "html",
        "index",
        "slice",
        "js",
        "len",
        "print",
        "printf",
        "println",
        "urlquery",
        "eq",
        "ge",
        "gt",
        "le",
        "lt",
        "ne",
        "and",
        "or",
        "not",
    ]
)
NAMES = _BUILTIN | SPRIG | frozenset(own_functions(Yaml())) | frozenset(REFUSED) | {SECRET}


class GoTemplate:
    """A Go template that was read."""

    def __init__(
        self, text: str, around: Surroundings | None = None, worked: Callable[[], float] = time.thread_time
    ) -> None:
        """Without surroundings they are this host's, now; `worked` tells the seconds of processor that the thread has had.

        Raises Invalid for bad syntax, and for functions that are not or must not be there.
        """
        self._worked = worked
        self._yaml = Yaml()
        self._around = around or surroundings(now())
        self._marks = Marks()
        functions = {**sprig_functions(self._around), **own_functions(self._yaml), **dict.fromkeys(REFUSED, _refused)}
        functions |= self._marks.functions(functions)
        try:
            self._template = parse(text, functions=functions)
        except TemplateError as error:
            raise _invalid(error) from None
        refused = [
            Problem(line=line, text=f"{name} is not available: it {REFUSED[name]}")
            for name, line in sorted(self._template.calls.items())
            if name in REFUSED
        ]
        if refused:
            raise Invalid("the template calls what no template may", refused)

    def render(self, data: Mapping[str, Any]) -> str:
        """Fill in the data, of which `hardware` is what `object_view` gives; raises Invalid that says what is missing or wrong, and where.

        What the data itself lacks is the `key` of the problem.
        """
        self._yaml.renew()
        self._around.renew()
        data = self._marks.renewed(data)
        if "hardware" in data:
            data = {**data, **go_views(data["hardware"])}
        try:
            with bounded_work():
                rendered = self._template.render(data, LIMITS, self._in_time(), self._marks.whole.called)
        except TemplateError as error:
            raise _invalid(error, mapping_of(data.get(REFERENCES))) from None
        if (problem := self._marks.whole.piece_in(rendered)) is not None:
            raise Invalid("the template cannot be rendered", [problem])
        return rendered

    def _in_time(self) -> Callable[[], None]:
        began = self._worked()

        def go_on() -> None:
            if self._worked() - began > MAX_SECONDS + 2 * self._around.paid / 1000:
                raise GoError(f"rendering takes more than {MAX_SECONDS} seconds of processor time")

        return go_on


def render_each(text: str, several: Sequence[Mapping[str, Any]], around: Surroundings) -> list[str | Problem]:
    """Render a text with each of several data; where that fails, the problem, with the name that the data lacks as its `key`.

    With no data it is only read: the list has its problems.
    """
    try:
        template = GoTemplate(text, around)
    except Invalid as error:
        return [*error.problems[:1]] * len(several) or [*error.problems]
    return [_rendered(template, each) for each in several]


def _rendered(template: GoTemplate, data: Mapping[str, Any]) -> str | Problem:
    try:
        return template.render(data)
    except Invalid as error:
        return error.problems[0]
    except MemoryError:
        return Problem(text=TOO_MUCH_MEMORY)


def _refused(*_: object) -> Any:
    raise GoError("not available")


def _invalid(error: TemplateError, references: Mapping[str, Any] | None = None) -> Invalid:
    asked = _OF_REFERENCES.search(error.problem)
    hint = f"; {_told_of(asked['called'], references or {})}" if asked else ""
    text = f"{error.problem}{hint}"
    return Invalid("the template cannot be rendered", [Problem(line=error.line, key=error.missing, text=text)])


def _told_of(called: str, references: Mapping[str, Any]) -> str:
    """What there is of the reference that a template calls so."""
    referent = mapping_of(references.get(called))
    if referent.get("kind") == KIND:
        name = mapping_of(referent.get("metadata")).get("name")
        keys = ", ".join([*mapping_of(referent.get("data"))][:MAX_TOLD])
        return f"the Secret {name} has {keys}: `tinkbox secret set {name}.KEY` sets another key"
    return (
        ".references has the Secrets and the ConfigMaps that spec.references of the machine's document names, as far as they are "
        "there (`tinkbox secret list`, `tinkbox document list`): `tinkbox secret set NAME.KEY` sets a key of the Secret NAME"
    )
