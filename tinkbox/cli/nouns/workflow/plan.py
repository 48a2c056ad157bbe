"""`tinkbox workflow plan`: what would happen, without making anything."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import EachOnce, Verbs, add_format, add_selector, add_verb, assignment
from tinkbox.cli.input_documents import devices_and_parameters, read_devices
from tinkbox.cli.output.formats import Column, Document, json_of, rows_of, screen, show_notes, yaml_of
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.tables import Fit, listing, pairs
from tinkbox.cli.selection import named_and_selected
from tinkbox.model.devices import as_text
from tinkbox.model.duration import show_duration
from tinkbox.model.errors import NotFound, Problem
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.text import natural

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

FORMATS: Final = ("table", "json", "yaml")
STORY: Final = (
    "Renders the template and binds it as `workflow create` does, and stores nothing. With MACHINE each machine is planned by "
    "itself: the template's one device is the machine. Exit status 1 when a workflow could not work."
)
_DIGEST: Final = 19  # letters: sha256: and as many as docker shows


def _source(image: Document) -> str:
    if image["digest"]:
        return str(image["digest"])[:_DIGEST]
    return "pulled" if image["elsewhere"] else "missing"


COLUMNS: Final[Sequence[Column]] = (
    Column("#", "number"),
    Column("Action", "action", fit=Fit(least=12)),
    Column("Machine", "machine", fit=Fit(least=8, rank=1)),
    Column("Image", lambda each: each["image"]["name"], fit=Fit(least=16)),
    Column("Digest", lambda each: _source(each["image"])),
    Column("Wipes", lambda each: " ".join(each["wipes"]), fit=Fit(least=8)),
    Column("Disk", "disk", fit=Fit(least=8, rank=3)),
    Column("Timeout", lambda each: "skipped" if each["skipped"] else show_duration(each["timeout"])),
    Column("Retries", lambda each: each["retries"] or "", fit=Fit(rank=2)),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "plan", plan, "what would happen, without making anything", STORY)
    verb.add_argument("machines", nargs="*", metavar=KeyKind.MACHINE, help="a name, a MAC, an address or an id")
    add_selector(verb, "the machines with these labels: rack=r1,gpu!=no")
    verb.add_argument("-t", "--template", metavar="TEMPLATE", required=True)
    verb.add_argument(
        "-r",
        "--hardware",
        type=read_devices,
        metavar="JSON",
        help='the template\'s devices and parameters: {"device_1": "08:00:27:00:00:01"}; with MACHINE, all but the machine',
    )
    verb.add_argument(
        "--set",
        dest="parameters",
        action=EachOnce,
        type=assignment,
        metavar="NAME=VALUE",
        default=[],
        help="a parameter of the template; may be repeated",
    )
    add_format(verb, FORMATS, "table (default), json or yaml")


def plan(chosen: argparse.Namespace) -> int:
    """Returns the exit status."""
    if not chosen.machines and chosen.selector is None and chosen.hardware is None:
        chosen.usage_error(
            "name the machines, select some with -l, or give the template's devices with -r, as for `workflow create`"
        )
    if chosen.machines and chosen.selector is not None:
        chosen.usage_error(named_and_selected(chosen.machines[0], KeyKind.MACHINE))
    parameters = devices_and_parameters(chosen)

    async def planned(operator: "Operator") -> list[Document]:
        wanted = dict.fromkeys([*chosen.machines, *await _selected(chosen, operator)] or [""])
        return [await operator.workflows.plan(chosen.template, key, parameters) for key in wanted]

    plans = ask(chosen, planned)
    for each in plans:
        show_notes(each)
    if chosen.format in ("json", "yaml"):
        print((json_of if chosen.format == "json" else yaml_of)(plans), end="")
    else:
        print("\n".join(map(_shown, plans)), end="")
    return 0 if all(each["possible"] for each in plans) else 1


async def _selected(chosen: argparse.Namespace, operator: "Operator") -> list[str]:
    """The ids of the machines with these labels, in the order of their names; raises NotFound for none."""
    if chosen.selector is None:
        return []
    listed = await operator.hardware.found({"label": chosen.selector})
    if not listed.documents:
        raise NotFound(
            f"no machine has the labels {chosen.selector}: `tinkbox hardware label MACHINE KEY=VALUE` gives it some"
        )
    return [each["id"] for each in sorted(listed.documents, key=lambda each: natural(each["name"]))]


def _shown(found: Document) -> str:
    """A plan for people."""
    described = pairs(_described(found), screen())
    steps = found["actions"]
    listed = listing(
        [column.title for column in COLUMNS],
        rows_of(steps, COLUMNS),
        [column.fit for column in COLUMNS],
        screen(),
    )
    return described + (f"\n{listed}" if steps else "") + _in_the_way(found)


def _described(found: Document) -> list[tuple[str, object]]:
    template = found["template"]["name"]
    told: list[tuple[str, object]] = [("Workflow", found["name"] or "-"), ("Template", template)]
    for number, each in enumerate(found["machines"]):
        address = each["address"] or ("address of the pool" if each["mac"] else "no MAC")
        facts = ", ".join(text for text in (each["name"], each["mac"], address) if text)
        told.append(("" if number else "Machine", facts))
    for each in found["machines"]:
        if each["netboots"]:
            ticket = "has a ticket already" if each["ticket"] else "gets a ticket"
            told.append(
                (
                    "Boot",
                    f"{each['name']} {ticket}, netboots the OSIE for {each['architecture']} by {', '.join(each['netboots'])}",
                )
            )
    told += [("Devices", ", ".join(f"{name}={as_text(value)}" for name, value in found["devices"].items()))]
    wiped = [
        (each["machine"], disk, each["action"])
        for each in found["actions"]
        for disk in each["wipes"]
        if not each["skipped"]
    ]
    told += [
        ("" if number else "Wipes", f"{disk} of {machine}, by {action}")
        for number, (machine, disk, action) in enumerate(wiped)
    ]
    told += [
        (
            "" if number else "Services",
            f"{each['name']} on {each['host']}: {each['image']['name']} ({_source(each['image'])})",
        )
        for number, each in enumerate(found["services"])
    ]
    armed = _armed(found["breakpoints"])
    optional = {
        "Breakpoints": armed,
        "Timeout": show_duration(found["global_timeout"]) if found["global_timeout"] else "",
        "Unused": ", ".join(found["unused"]),
    }
    return told + [(name, text) for name, text in optional.items() if text]


def _armed(breakpoints: Document) -> str:
    places = [
        *(["on failure"] if breakpoints["on_failure"] else []),
        *(f"before {each}" for each in breakpoints["before"]),
        *(f"after {each}" for each in breakpoints["after"]),
    ]
    return ", ".join(places)


def _in_the_way(found: Document) -> str:
    lines: list[str] = []
    for blocks, title in ((True, "In the way:"), (False, "Before it:")):
        obstacles = [each for each in found["obstacles"] if each["blocks"] is blocks]
        if obstacles:
            lines += ["", title]
        for each in obstacles:
            lines.append(clean(f"  {each['text']}"))
            lines += [clean(f"    {Problem(**one)}") for one in each["problems"]]
    return "".join(f"{line}\n" for line in lines)
