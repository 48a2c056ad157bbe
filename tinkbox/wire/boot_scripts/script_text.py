"""What boot scripts say alike, whatever loader they are for: text from outside in them can become no command."""

import re
from typing import Final

from tinkbox.model.boot import Boot, Plan

ASKS_AGAIN_SECONDS: Final = 30
_UNSAFE = re.compile(r"[^A-Za-z0-9 .,:/=_@+()?-]")
# Beside these what no loader takes for anything but itself, if it stands inside of GRUB's quotation marks; to iPXE a
# semicolon that stands alone ends the command, as does a word that begins with `#`.
_NOT_OF_AN_ARGUMENT = re.compile(r'\A;\Z|[^A-Za-z0-9.,:/=_@+()?%!*;~^<>"\[\]-]')


def heading(plan: Plan, version: str) -> str:
    """Who speaks, and to which machine."""
    named = plan.interface.hostname or plan.hardware_id or "a new machine"
    return f"tinkbox {version}: {named} ({plan.interface.mac})"


def behalf(plan: Plan) -> str:
    """What a person knows the workflow by."""
    return plan.workflow or plan.hardware_id


def plain(text: str) -> str:
    """Text for people, in characters that no loader takes for anything but themselves."""
    return _UNSAFE.sub("_", text)


def word(text: str) -> str:
    """One word of a command: a URL or an argument, in which a hardware document has its say."""
    return plain(text).replace(" ", "_")


def argument(text: str) -> str:
    """One word of a kernel's command line."""
    return _NOT_OF_AN_ARGUMENT.sub("_", text)


def needs_ipxe(plan: Plan) -> tuple[str, str]:
    """What was decided that only iPXE can boot, and what to do for another loader; empty: any can boot it."""
    match plan.boot:
        case Boot.WORKFLOW:
            what = f"workflow {behalf(plan)} supplies a boot script for iPXE"
            return what, "use a workflow that does without"
        case Boot.OWN_SCRIPT:
            return "its hardware document has a boot script for iPXE", "take netboot.ipxe out of the document"
        case Boot.OWN_OSIE:
            return (
                "its hardware document names an OSIE that needs iPXE",
                "take netboot.osie.baseURL out of the document",
            )
        case _:
            return "", ""
