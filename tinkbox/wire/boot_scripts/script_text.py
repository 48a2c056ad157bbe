"""What boot scripts say alike, whatever loader they are for: text from outside in them can become no command."""

import re
from typing import Final

from tinkbox.model.boot import Plan

ASKS_AGAIN_SECONDS: Final = 30
_UNSAFE = re.compile(r"[^A-Za-z0-9 .,:/=_@+()?-]")


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
