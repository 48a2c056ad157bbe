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
    "breakpoint": "hold an action, look into it, decide",
    "service": "what workflows run in the background",
    "image": "the images that actions run from, and those of operating systems",
    "osie": "the in-memory operating system",
    "events": "what happens",
    "status": "the appliance at a glance, live in a terminal; q ends it",
    "doctor": "why machines do not boot; exit status 1 when there is a fault",
    "version": "the program's version",
}
