"""Templates in Go's language: Sprig's hermetic functions, and the four that Tinkerbell adds."""

import re
from collections.abc import Callable, Mapping
from ipaddress import AddressValueError, IPv4Address
from typing import Any

import yaml

from tinkbox.engine.yamltext import NodeReader, compose
from tinkbox.gotemplate import GoError, Limits, Template, TemplateError, parse
from tinkbox.model.errors import Invalid, Problem
from tinkbox.sprig import FUNCTIONS as SPRIG
from tinkbox.sprig import REFUSED

MAX_OUTPUT = 256 * 1024  # bytes of UTF-8, of a Jinja2 template too
LIMITS = Limits(output_bytes=MAX_OUTPUT)


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


def to_yaml(value: object) -> str:
    """YAML in blocks, keys sorted, without a line end at the end."""
    try:
        return (
            str(yaml.safe_dump(value, default_flow_style=False, allow_unicode=True, width=MAX_OUTPUT))
            .removesuffix("\n...\n")
            .rstrip("\n")
        )
    except (yaml.YAMLError, RecursionError) as error:
        raise GoError(f"cannot be written as YAML: {str(error)[:200]}") from None


def from_yaml(text: object) -> Any:
    """The value of one YAML document."""
    if not isinstance(text, str) or not text.strip():
        raise GoError("expected YAML, not an empty text")
    reader = NodeReader()
    try:
        documents = compose(text)
        value = reader.plain(documents[0], "") if documents else None
    except Invalid as error:
        raise GoError("; ".join(str(problem) for problem in error.problems) or str(error)) from None
    if reader.problems:
        raise GoError("; ".join(str(problem) for problem in reader.problems))
    return value


OWN: Mapping[str, Callable[..., Any]] = {
    "formatPartition": format_partition,
    "netmaskToPrefixLength": netmask_to_prefix_length,
    "toYaml": to_yaml,
    "fromYaml": from_yaml,
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
NAMES = _BUILTIN | frozenset(SPRIG) | frozenset(OWN) | frozenset(REFUSED)


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*_: object) -> Any:
        raise GoError(f"{name} is not available: it {REFUSED[name]}")

    return refuse


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {**SPRIG, **OWN, **{name: _refused(name) for name in REFUSED}}


def parse_go(text: str) -> Template:
    """Read a Go template; raises Invalid for bad syntax, and for functions that are not or must not be there."""
    try:
        template = parse(text, functions=_FUNCTIONS)
    except TemplateError as error:
        raise _invalid(error) from None
    refused = [
        Problem(line=_line_of(text, name), text=f"{name} is not available: it {REFUSED[name]}")
        for name in sorted(set(template.functions) & set(REFUSED))
    ]
    if refused:
        raise Invalid("the template calls what no template may", refused)
    return template


def render_go(template: Template, data: Mapping[str, Any]) -> str:
    """Fill in the data; raises Invalid that says what is missing or wrong, and where."""
    try:
        return template.render(data, LIMITS)
    except TemplateError as error:
        raise _invalid(error) from None


def _invalid(error: TemplateError) -> Invalid:
    return Invalid("the template cannot be rendered", [Problem(line=error.line, text=error.problem)])


def _line_of(text: str, name: str) -> int | None:
    found = re.search(rf"\{{\{{[^}}]*(?<![\w.$]){name}(?!\w)", text)
    return text.count("\n", 0, found.end()) + 1 if found else None
