"""tinkbox's own list: CSV with a header row, the columns in any order.

`mac` names the card that the machine boots with; `name`, `ip` (with or without /PREFIX or /NETMASK), `netmask`, `gateway`,
`other_macs`, `labels` (`rack=r1;gpu=no`, also `rack=r1|gpu=no`) and `notes` (one a line) may follow, and a column `label:rack`
for a label of its own.  The separator is a comma, a semicolon or a tab.  Lines that are empty or begin with `#` are none.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.machine_lists import ListedMachine, parse_address
from tinkbox.wire.machine_lists.listing import Gathered, shown

SEPARATORS: Final = ",;\t"
COLUMNS: Final = ("mac", "name", "ip", "gateway", "other_macs", "labels", "notes")
_READ: Final = (*COLUMNS, "netmask")
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "mac_address": "mac",
    "macaddress": "mac",
    "hwaddr": "mac",
    "hw_address": "mac",
    "hardware_address": "mac",
    "hostname": "name",
    "host_name": "name",
    "host": "name",
    "address": "ip",
    "ip_address": "ip",
    "ipaddress": "ip",
    "ipv4": "ip",
    "ipv4_address": "ip",
    "subnet_mask": "netmask",
    "subnetmask": "netmask",
    "mask": "netmask",
    "router": "gateway",
    "default_gateway": "gateway",
    "gw": "gateway",
    "label": "labels",
    "tags": "labels",
    "note": "notes",
    "comment": "notes",
    "comments": "notes",
    "interface_macs": "other_macs",
}
_SECRET: Final = re.compile(
    r"pass(?:word|wd|phrase)|secret|token|credential|(?:api|private)_key|(?:^|_)(?:pass|pwd?|pin)(?:_|\Z)"
)
_LABEL: Final = re.compile(r"label[:.]\s*(?P<key>\S+)", re.IGNORECASE)
Row = tuple[int, Sequence[str]]


def header_of(text: str) -> Sequence[str]:
    """The cells of the first line that is one; raises Invalid for a text without any."""
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    return next(csv.reader([first], delimiter=separator_of(first)), [])


def has_header(cells: Sequence[str]) -> bool:
    """Whether a row names a column `mac`, by any of its names."""
    return "mac" in map(_column, cells)


def separator_of(header: str) -> str:
    """The separator that the header row has most of."""
    return max(SEPARATORS, key=header.count)


def rows(text: str, gathered: Gathered) -> Iterator[Row]:
    """The rows of a CSV text with their lines, the header row among them; what is no CSV is noted, and ends it."""
    separator = separator_of(next((line for line in text.splitlines() if line.strip()[:1] not in ("", "#")), ""))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#"):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        gathered.wrong(f"this is no CSV: {error}: look for a quote without its end", line)


def read(text: str, gathered: Gathered) -> None:
    """Gather the machines of a CSV text.  Raises Invalid for one without a header row that names `mac`."""
    found = rows(text, gathered)
    _, header = next(found, (0, ()))
    columns = _columns(header, gathered)
    for line, row in found:
        if len(row) > len(header):
            gathered.wrong(
                f"it has {len(row)} cells, and the header row {len(header)}: put quotes around a cell with a separator",
                line,
            )
            continue
        _take(dict(zip(columns, row, strict=False)), line, gathered)


def write(machines: Iterable[ListedMachine]) -> str:
    """The same list as CSV, which reads back as it is."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in machines:
        labels = ";".join(f"{key}={value}" for key, value in each.labels.items())
        others, notes = " ".join(each.macs[1:]), "\n".join(each.notes)
        writer.writerow([each.macs[0], each.name, each.reserved, str(each.gateway or ""), others, labels, notes])
    return written.getvalue()


def _columns(header: Sequence[str], gathered: Gathered) -> list[str]:
    columns = [_column(cell) for cell in header]
    if "mac" not in columns:
        if any(_is_mac(cell) for cell in header):
            raise Invalid("the first line names no columns: begin with a line such as mac,name,ip,labels")
        told = ", ".join(shown(cell) for cell in header[:8])
        raise Invalid(f"no column is called mac: rename the one that has the MACs, of {told}")
    twice = {each for each in columns if each and columns.count(each) > 1}
    if twice:
        raise Invalid(f"two columns say the same: {', '.join(sorted(twice))}: leave one of them out")
    known = (*_READ, *_OTHER_NAMES)
    for cell, column in zip(header, columns, strict=True):
        if column in _READ or _LABEL.fullmatch(column) or not cell.strip():
            continue
        if _SECRET.search(column):
            gathered.leave_out(f"unknown column {shown(cell)}: its values are not stored", 1)
            continue
        near = get_close_matches(column[:40], known, n=1, cutoff=0.8)
        if near:
            raise Invalid(f"unknown column {shown(cell)}: did you mean {_OTHER_NAMES.get(near[0], near[0])}?")
        gathered.leave_out(f"unknown column {shown(cell)}: call it label:{column[:30]} to have it as a label", 1)
    return columns


def _column(cell: str) -> str:
    label = _LABEL.fullmatch(cell.strip())
    if label:
        return f"label:{label['key']}"
    name = re.sub(r"[\s_-]+", "_", cell.strip().lower())
    return _OTHER_NAMES.get(name, name)


def _is_mac(cell: str) -> bool:
    try:
        MacAddress(cell)
    except Invalid:
        return False
    return True


def _take(cells: Mapping[str, str], line: int, gathered: Gathered) -> None:
    labels: dict[str, str] = {}
    parts = [each for each in re.split(r"[;,|\s]+", cells.get("labels", "")) if each]
    columns = [
        f"{column.removeprefix('label:')}={cell.strip()}"
        for column, cell in cells.items()
        if column.startswith("label:") and cell.strip()
    ]
    for part in (*parts, *columns):
        key, equals, value = part.partition("=")
        if not equals:
            cell = cells.get("labels", "").strip()
            where = "" if cell == part else f" of {shown(cell)}"
            gathered.wrong(f"{shown(part)}{where} is no label: write KEY=VALUE", line)
            return
        if labels.setdefault(key, value) != value:
            gathered.wrong(f"the label {shown(key)} is {shown(labels[key])} and {shown(value)}: keep one of them", line)
            return
    try:
        address = _address(cells.get("ip", "").strip(), cells.get("netmask", "").strip().removeprefix("/"))
    except Invalid as error:
        gathered.wrong(str(error), line)
        return
    gathered.add(
        macs=[each for each in (cells["mac"], *re.split(r"[;,\s]+", cells.get("other_macs", ""))) if each.strip()],
        name=cells.get("name", "").strip(),
        address=address,
        gateway=cells.get("gateway", "").strip(),
        labels=labels,
        notes=[note for note in cells.get("notes", "").splitlines() if note.strip()],
        line=line,
    )


def _address(written: str, mask: str) -> str:
    """An address with the netmask that another column has for it; raises Invalid."""
    if not mask:
        return written
    if not written:
        raise Invalid("it has a netmask and no address: give both, or neither")
    address, slash, _ = written.partition("/")
    if slash and parse_address(written) != parse_address(f"{address}/{mask}"):
        raise Invalid(
            f"the address {shown(written)} and the netmask {shown(mask)} have different prefixes: keep one of them"
        )
    return f"{address}/{mask}"
