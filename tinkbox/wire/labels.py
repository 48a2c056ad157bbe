"""What the labels and urls of a service say: its routes, after Traefik's labels (proposal 0015), and tinkbox's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tinkbox.wire.rules import Rule

BOOT_PATH: Final = "/auto.ipxe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Requests that a rule picks out, and the port they go to; None: the service's first.

    Of several routes that match the one with the highest `priority` counts, which is the length of the rule unless a
    label says otherwise.  The first of `strip` that the path begins with is taken off it, then `add` is put before it.
    """

    name: str
    rule: Rule
    priority: int
    port: int | None = None
    strip: tuple[str, ...] = ()
    add: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """`public` routes answer to anybody, others to the machines of their workflow.

    `boot` is the path of the boot script that the service supplies, empty when no label says so.
    """

    routes: tuple[Route, ...] = ()
    public: bool = False
    boot: str = ""


def read_labels(labels: Sequence[tuple[str, str]], urls: Sequence[str] = ()) -> Labels:
    """Raises Invalid with a problem for each label or URL that means something that is not honoured here."""
    raise NotImplementedError
