"""Documents of a site: machines, a template, and a workflow for each machine."""

import json
from collections.abc import Mapping
from datetime import datetime

from tests.integration.engine.appliance import HELLO, address, hardware, mac
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.reading import SourceFile
from tinkbox.engine.applying.results import Applied
from tinkbox.model.labels import parse_selector

API = "tinkerbell.org/v1alpha1"


def machine(number: int, rack: str = "r1", *, netboots: bool = True, card: int = 0) -> str:
    return f"""\
apiVersion: {API}
kind: Hardware
metadata: {{name: node{number}, labels: {{rack: {rack}}}}}
spec:
  disks: [{{device: /dev/vda}}]
  interfaces:
    - dhcp:
        mac: {mac(card or number)}
        hostname: node{number}
        ip: {{address: {address(number)}, netmask: 255.255.255.0}}
      netboot: {{allowPXE: {str(netboots).lower()}}}
"""


def template(name: str = "hello", text: str = HELLO, labels: str = "") -> str:
    block = "\n".join(f"    {line}" for line in text.splitlines())
    told = f", labels: {{{labels}}}" if labels else ""
    return f"apiVersion: {API}\nkind: Template\nmetadata: {{name: {name}{told}}}\nspec:\n  data: |\n{block}\n"


def flow(number: int, name: str = "", device: int = 0, *, toggles: bool = False, labels: str = "") -> str:
    options = "\n  bootOptions: {toggleAllowNetboot: true}" if toggles else ""
    told = f", labels: {{{labels}}}" if labels else ""
    return f"""\
apiVersion: {API}
kind: Workflow
metadata: {{name: {name or f"install-{number}"}{told}}}
spec:
  templateRef: hello
  hardwareRef: node{number}
  hardwareMap: {{device_1: "{mac(device or number)}"}}{options}
"""


def of_2020(number: int) -> str:
    return json.dumps(hardware(number))


def site(count: int = 3) -> str:
    """Everything in an order in which nothing is there yet that is referred to."""
    numbers = range(1, count + 1)
    return "---\n".join([*map(flow, numbers), template(), *map(machine, numbers)])


def files(*texts: str) -> list[SourceFile]:
    return [SourceFile(name=f"{number}.yaml", text=text) for number, text in enumerate(texts)]


def outcomes(applied: Applied) -> dict[str, str]:
    return {f"{each.kind}/{each.name}": str(each.outcome) for each in applied.results}


def pruning(selector: str, agreed: Mapping[str, datetime | None] | None = None) -> Wish:
    return Wish(prune=parse_selector(selector), agreed=agreed)
