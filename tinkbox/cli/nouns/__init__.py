"""What can be named on the command line.

Each noun has a module or a package of its name here, which declares its verbs and flags (`declare`) and carries them
out.  It is imported when the noun is named, and what takes long to import only when a verb that needs it runs.
"""

from collections.abc import Mapping
from typing import Final

NOUNS: Final[Mapping[str, str]] = {
    "init": "set up an appliance on this host",
    "install": "put an operating system on machines, and wait until they are up",
    "serve": "run the appliance",
    "hardware": "the machines",
    "template": "what can be done with machines",
    "workflow": "what is done with machines",
    "rollout": "one template for many machines, so many of them at a time",
    "apply": "have machines, templates and workflows become what files declare",
    "export": "what there is, as files that apply takes",
    "document": "rules for unknown machines, and what is kept for power control",
    "breakpoint": "hold an action, look into it, decide",
    "service": "what workflows run in the background",
    "secret": "what actions are given, and nobody is shown",
    "image": "the images that actions run from, and those of operating systems",
    "osie": "the in-memory operating system",
    "token": "who may use the appliance from elsewhere, and for what",
    "events": "what happens",
    "audit": "who did what, and whether that is told as it was written",
    "status": "every machine, problems first; on a terminal a view to work in, with ? for its keys",
    "doctor": "what is wrong, why, and what to do; exit status 1 when there is a fault",
    "login": "have the commands speak to a box over HTTPS, and keep its authority and your token",
    "logout": "forget a box that you are logged in to",
    "authority": "the certificate that programs trust to reach the box over HTTPS, and its fingerprint",
    "completion": "scripts that have your shell complete commands and names",
    "version": "the program's version",
}
