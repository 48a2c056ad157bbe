"""The verbs of `tinkbox hardware` for machines that nobody knows."""

import argparse
import json
from collections.abc import Mapping

from tinkbox.cli.grammar import Verbs, add_confirmation, add_listing, add_verb


def add_discovery(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "discovered", "discovery:discovered", "machines that nobody knows, and what they are"))
    accept = add_verb(
        verbs,
        "accept",
        "discovery:accept",
        "make hardware of a machine that nobody knows",
        "It goes on as that machine without booting again.",
    )
    accept.add_argument("mac", metavar="MAC")
    accept.add_argument("--name", help="its name and hostname; without it, after its MAC")
    accept.add_argument("--ip", metavar="ADDRESS", help="an address to reserve, such as 172.30.0.20 or 172.31.0.20/24")
    accept.add_argument("--gateway", metavar="ADDRESS", help="to tell it together with --ip")
    accept.add_argument("-t", "--template", metavar="TEMPLATE", help="and create a workflow of this template for it")
    accept.add_argument(
        "-r",
        "--hardware",
        metavar="JSON",
        type=_devices,
        default={},
        help='the template\'s devices; without it, {"device_1": "MAC"}',
    )
    add_confirmation(accept)
    refuse = add_verb(verbs, "refuse", "discovery:refuse", "answer machines that nobody knows no more")
    refuse.add_argument("keys", nargs="+", metavar="MAC")


def _devices(text: str) -> Mapping[str, str]:
    try:
        devices = json.loads(text)
    except ValueError:
        devices = None
    if not isinstance(devices, dict):
        raise argparse.ArgumentTypeError(f'{text!r} is no object such as {{"device_1": "08:00:27:00:00:01"}}')
    return devices
