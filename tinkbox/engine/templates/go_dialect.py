"""Templates in Go's language: Sprig's hermetic functions, and those that Tinkerbell and EKS Anywhere add."""

from collections.abc import Callable, Mapping, Sequence
from ipaddress import AddressValueError, IPv4Address
from typing import Any

import yaml

from tinkbox.gotemplate import GoError, Limits, TemplateError, parse
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.template import MAX_TEXT
from tinkbox.sprig import FUNCTIONS as SPRIG
from tinkbox.sprig import REFUSED
from tinkbox.sprig.regexes import bounded_work
from tinkbox.yaml_nodes import NodeReader, compose

MAX_YAML = 256 * 1024  # characters
LIMITS = Limits(output_bytes=MAX_TEXT)
TOO_MUCH_MEMORY = "rendering takes too much memory"


def format_partition(device: object, number: object) -> str:
    """`/dev/sda` and 1 are `/dev/sda1`, `/dev/nvme0n1` and 1 `/dev/nvme0n1p1`, below /dev/disk it is `-part1`."""
    if not isinstance(device, str) or isinstance(number, bool) or not isinstance(number, int):
        raise GoError("expected a device and the number of a partition, such as /dev/sda 1")
    if device.startswith("/dev/disk/"):
        return f"{device}-part{number}"
    return f"{device}p{number}" if device[-1:].isdecimal() else f"{device}{number}"


def netmask_to_prefix_length(netmask: object) -> str:
    """`255.255.255.0` is `24`, and a mask with holes `0`, as in Tinkerbell."""
    try:
        bits = f"{int(IPv4Address(str(netmask))):032b}"
    except AddressValueError:
        raise GoError(f"invalid netmask: {str(netmask)[:40]}") from None
    ones = bits.rstrip("0")
    return "0" if "0" in ones else str(len(ones))


class Yaml:
    """YAML for one rendering, `most` characters of it in all: reading and writing it is slow.

    Raises GoError for what is no YAML and when there is too much.
    """

    def __init__(self, most: int = MAX_YAML) -> None:
        self._most = most
        self._left = most

    def renew(self) -> None:
        """Begin another rendering."""
        self._left = self._most

    def write(self, value: object) -> str:
        """Blocks with sorted keys, without a line end at the end."""
        self._pay(self._weight(value, self._left))
        try:
            text = str(yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=MAX_TEXT))
        except (yaml.YAMLError, RecursionError) as error:
            raise GoError(f"cannot be written as YAML: {str(error)[:200]}") from None
        return text.removesuffix("\n...\n").rstrip("\n")

    def read(self, text: object) -> Any:
        """The value of one document."""
        if not isinstance(text, str) or not text.strip():
            raise GoError("expected YAML, not an empty text")
        self._pay(len(text))
        reader = NodeReader()
        try:
            documents = compose(text)
            value = reader.plain(documents[0], "") if documents else None
        except Invalid as error:
            raise GoError("; ".join(str(problem) for problem in error.problems)) from None
        if reader.problems:
            raise GoError("; ".join(str(problem) for problem in reader.problems))
        return value

    def _pay(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise GoError(f"more than {self._most // 1024} KiB of YAML")

    def _weight(self, value: object, most: int) -> int:
        """About how many characters a value becomes; what is in it twice is written twice."""
        if isinstance(value, Mapping):
            parts = [part for pair in value.items() for part in pair]
        elif isinstance(value, list | tuple):
            parts = list(value)
        else:
            return len(value) if isinstance(value, str) else 4
        weight = 4
        for part in parts:
            if weight > most:
                break
            weight += 2 + self._weight(part, most - weight)
        return weight


class _Dumper(yaml.SafeDumper):
    """Writes a value that is there twice twice, as Go does."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  the name and form are PyYAML's
        return True


def own_functions(of_yaml: Yaml) -> Mapping[str, Callable[..., Any]]:
    """The functions that Tinkerbell and EKS Anywhere add to Sprig's."""
    return {
        "formatPartition": format_partition,
        "netmaskToPrefixLength": netmask_to_prefix_length,
        # What EKS Anywhere calls it.
        "netmaskToCIDR": netmask_to_prefix_length,
        "toYaml": of_yaml.write,
        "fromYaml": of_yaml.read,
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
NAMES = _BUILTIN | frozenset(SPRIG) | frozenset(own_functions(Yaml())) | frozenset(REFUSED)


class GoTemplate:
    """A Go template that was read."""

    def __init__(self, text: str) -> None:
        """Raises Invalid for bad syntax, and for functions that are not or must not be there."""
        self._yaml = Yaml()
        functions = {**SPRIG, **own_functions(self._yaml), **dict.fromkeys(REFUSED, _refused)}
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
        """Fill in the data; raises Invalid that says what is missing or wrong, and where.

        What the data itself lacks is the `key` of the problem.
        """
        self._yaml.renew()
        try:
            with bounded_work():
                return self._template.render(data, LIMITS)
        except TemplateError as error:
            raise _invalid(error) from None


def render_each(text: str, several: Sequence[Mapping[str, Any]]) -> list[str | Problem]:
    """Render a text with each of several data; where that fails, the problem, with the name that the data lacks as its `key`.

    With no data it is only read: the list has its problems.
    """
    try:
        template = GoTemplate(text)
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


def _invalid(error: TemplateError) -> Invalid:
    return Invalid("the template cannot be rendered", [Problem(line=error.line, key=error.missing, text=error.problem)])
