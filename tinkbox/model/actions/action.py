"""What an action does, in the words of its template."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tinkbox.model.secret import SecretUse

DEFAULT_ACTION_SECONDS = 3_600
SYSTEM_IMAGE = "IMAGE"
"""The variable of an action's environment that names the system image it writes (`install-image`)."""


class Until(StrEnum):
    """What an action of which the machine goes away waits for."""

    SEEN = ""  # the machine was seen booting
    PHONE_HOME = "phone-home"  # the installed system told that it is up


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One container run.

    `timeout` is in seconds; 0 or absent in the text means one hour.  `retries` counts the attempts that a
    failure may be followed by, `reboot` says that the machine goes away by intention, `until` what has to happen then.
    Without `helper` its command is process 1 of its container, and nothing can hold it where it ends.
    `pid` and `network` are as the engine takes them (`namespaces`); empty: a process namespace of its own, and the machine's network.
    `wipes` are the disks that it overwrites, each as a selection (`disk_selection`): one that holds what no workflow put
    there is not touched unless a person confirmed it.  `disk` is the selection of the one that it is told of; empty: none.
    `secrets` are those that it is given as variables and files; marks of others may stand in its command and environment.
    """

    name: str
    image: str
    timeout: int = DEFAULT_ACTION_SECONDS
    command: tuple[str, ...] = ()
    on_timeout: tuple[str, ...] = ()
    on_failure: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    pid: str = ""
    network: str = ""
    retries: int = 0
    reboot: bool = False
    until: Until = Until.SEEN
    helper: bool = True
    wipes: tuple[str, ...] = ()
    disk: str = ""
    secrets: tuple[SecretUse, ...] = ()
