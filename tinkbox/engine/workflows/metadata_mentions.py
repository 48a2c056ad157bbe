"""Which actions ask for metadata by address, as templates for Tinkerbell have them ask Hegel and Tootles.  Pure.

Where a machine would be given nothing, that is told when its workflow is made, and not when its system boots for the first time.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from tinkbox.model.actions.action import Action
from tinkbox.model.hardware import Hardware, called
from tinkbox.model.metadata import Metadata
from tinkbox.model.text import machines_named, shortened
from tinkbox.model.workflow import State, Workflow

LINK_LOCAL: Final = "169.254.169.254"  # where clouds answer
HEGEL: Final = 50061
# Hegel listened there, and Tootles does.
PORTS: Final = frozenset({HEGEL, 7080, 7172})
MOST_SHOWN: Final = 80  # letters of what an action has
# EC2's versions, and what Hegel answered.  Below `/metadata/` stands a token, which is served whatever the address is.
_PATH: Final = re.compile(r"/(?:(?:2009-04-04|latest/(?:meta-data|user-data|api/token))(?![A-Za-z0-9_-])|metadata/?\Z)")
_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9.-]{1,253})(?::(?P<port>[0-9]{1,5}))?(?P<path>/[A-Za-z0-9._~/-]*)?"
)
_ALONE: Final = re.compile(rf"(?<![0-9.]){re.escape(LINK_LOCAL)}(?![0-9.])")
_HOST: Final = re.compile(r"(?P<host>[A-Za-z0-9.-]{1,253})(?::(?P<port>[0-9]{1,5}))?\Z")
# Of the environment: where actions of 2020 look for Hegel, and what people call it.
_VARIABLES: Final[Mapping[str, int]] = {
    "MIRROR_HOST": HEGEL,
    "HEGEL_HOST": HEGEL,
    "HEGEL_URL": HEGEL,
    "METADATA_HOST": HEGEL,
    "METADATA_URL": HEGEL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Where an action asks, as it stands in the template: `text` for people."""

    text: str
    host: str
    port: int


# Why a machine would be given nothing that asks so, with what its workflow says of its system; empty: it is given something.
MetadataGap = Callable[[Hardware, Metadata, Mention], str]


def mentions(workflow: Workflow) -> dict[str, list[Mention]]:
    """Where the actions of each worker ask for metadata by address, each host and port once."""
    found: dict[str, dict[tuple[str, int], Mention]] = {}
    for each in workflow.actions:
        if each.state is not State.SKIPPED:
            of_worker = found.setdefault(each.action.worker, {})
            for mention in _of_action(each.action.spec):
                of_worker.setdefault((mention.host, mention.port), mention)
    return {worker: list(each.values()) for worker, each in found.items() if each}


def gaps(
    hardware: Hardware, spec: Metadata, mentioned: Iterable[Mention], gap: MetadataGap
) -> Iterator[tuple[str, str]]:
    """(where a machine asks, why it is given nothing there)."""
    for each in mentioned:
        if reason := gap(hardware, spec, each):
            yield each.text, reason


def gap_lines(found: Mapping[tuple[str, str], Iterable[Hardware]]) -> Iterator[str]:
    """What to say of `gaps`, of all machines that have the same together."""
    for (text, reason), machines in found.items():
        names = list(dict.fromkeys(called(each) for each in machines))
        asks = "asks" if len(names) == 1 else "ask"
        yield f"{machines_named(names)} {asks} for metadata at {text}: {reason}"


def _of_action(action: Action) -> Iterator[Mention]:
    for name, value in action.environment.items():
        if (port := _VARIABLES.get(name)) is not None and (named := _HOST.match(value.strip())) is not None:
            host = named["host"]
            yield Mention(text=shortened(f"{name} {host}", MOST_SHOWN), host=host, port=int(named["port"] or port))
    for text in chain(action.environment.values(), action.command):
        yield from _of_text(text)


def _of_text(text: str) -> Iterator[Mention]:
    for url in _URL.finditer(text):
        port = int(url["port"] or (443 if url["scheme"] == "https" else 80))
        if url["host"] == LINK_LOCAL or port in PORTS or _PATH.match(url["path"] or ""):
            yield Mention(text=shortened(url[0], MOST_SHOWN), host=url["host"], port=port)
    if LINK_LOCAL in text and _ALONE.search(text):  # the first is quick
        yield Mention(text=LINK_LOCAL, host=LINK_LOCAL, port=80)
