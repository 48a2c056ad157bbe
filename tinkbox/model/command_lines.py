"""Commands of ours in texts for people, as the appliance writes them: here they come to be what this person has to type."""

import json
import re
import shlex
from typing import Final

PROGRAM: Final = "tinkbox"
# Before the words by which a key that seems lost is given up.
CREDENTIAL_FIRST: Final = "See first whether it is a credential of systemd (`systemctl cat tinkbox`)."
# What is done to a key that is a credential, and is broken or another.
SEALED_ANEW: Final = (
    "it is a credential of systemd, so seal the right key from a backup anew, with `systemd-creds encrypt`, into the file that "
    "`systemctl cat tinkbox` names, and restart tinkbox"
)
# Also the second command of a pipe, which ends where the backquotes do.
_COMMAND: Final = re.compile(r"(?<=`)tinkbox(?= [a-z])|(?<= \| )tinkbox(?= [a-z][a-z ]*`)")
_STANDS_FOR: Final = re.compile(r"\b(WORKFLOW/SERVICE|WORKFLOW|MACHINE|TEMPLATE)\b")
_IN_BACKQUOTES: Final = re.compile(r"`[^`]*`")


def not_ours(text: str) -> str:
    """A text of somebody else, as an action, in which nothing stands as a command of ours does."""
    return text.replace("`", "'")


def about(text: str, *, workflow: str = "", machine: str = "", service: str = "", template: str = "") -> str:
    """A text whose commands name these in place of the words that stand for them: WORKFLOW, MACHINE, TEMPLATE and WORKFLOW/SERVICE.

    What is not given stays the word that it is, and so does a name of a service or a template that cannot stand between backquotes.
    """
    named = {
        "WORKFLOW": workflow,
        "MACHINE": machine,
        "TEMPLATE": shlex.quote(template) if _can_be_typed(template) else "",
        "WORKFLOW/SERVICE": service_key(workflow or "WORKFLOW", service if _can_be_typed(service) else "SERVICE"),
    }
    return _IN_BACKQUOTES.sub(lambda command: _STANDS_FOR.sub(lambda word: named[word[0]] or word[0], command[0]), text)


def service_key(workflow: str, service: str) -> str:
    """What a command takes for a service, as a shell has to be given it: the name may have blanks."""
    return shlex.quote(f"{workflow}/{service}")


def _can_be_typed(name: str) -> bool:
    return bool(name) and name.isprintable() and "`" not in name


def typable(text: str, program: str) -> str:
    """A text whose commands begin with `program`, such as `tinkbox --data DIR`, so that they reach the same appliance."""
    return _COMMAND.sub(lambda _: program, text)


def typable_json(content: bytes, program: str) -> bytes:
    """The same of every text in a JSON document, which is not read for that: one may tell of thousands of machines."""
    spelled = json.dumps(program)[1:-1]
    return typable(content.decode("utf-8", "surrogateescape"), spelled).encode("utf-8", "surrogateescape")
