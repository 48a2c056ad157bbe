"""What keeps machines from beginning that may have work: told once for all of them.  Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from shlex import quote

from tinkbox.model.documents.hardware_values import ARCHITECTURES
from tinkbox.model.hardware import Hardware, Interface, called, primary
from tinkbox.model.text import machines_named


def boot_obstacles(
    machines: Sequence[Hardware], osie: Collection[str], key: Callable[[Hardware], str]
) -> Iterator[str]:
    """What stands in the way of their boot.

    `osie` are the architectures of the OSIEs that there are, `key` is what means a machine and no other.
    """
    silent = [each for each in machines if each.interfaces and not any(one.allow_pxe for one in each.interfaces)]
    if silent:
        its = "its document" if len(silent) == 1 else "their documents"
        edit = f"`tinkbox hardware edit {quote(key(silent[0]))}`"
        yield f"no card of {machines_named([called(each) for each in silent])} may netboot: allow it in {its}, {edit}"
    without_work = [
        each
        for each in machines
        if each not in silent
        and each.interfaces
        and not any(one.allow_pxe and one.allow_workflow for one in each.interfaces)
    ]
    if without_work:
        say = "its document says" if len(without_work) == 1 else "their documents say"
        edit = f"`tinkbox hardware edit {quote(key(without_work[0]))}`"
        named = machines_named([called(each) for each in without_work])
        yield f"{named} may not boot for a workflow, for {say} allow_workflow: false: allow it there, {edit}"
    led_away = [
        each
        for each in machines
        if each not in [*silent, *without_work] and each.interfaces and not any(map(_boots_here, each.interfaces))
    ]
    if led_away:
        its = "its document" if len(led_away) == 1 else "their documents"
        edit = f"`tinkbox hardware edit {quote(key(led_away[0]))}`"
        yield (
            f"{machines_named([called(each) for each in led_away])} cannot boot from here, for {its} names another boot server: "
            f"take tftp_server_name and boot_file_name out, {edit}"
        )
    missing: dict[str, list[str]] = defaultdict(list)
    for each in machines:
        shown = primary(each)
        if shown is not None and shown.architecture not in osie and shown.netboot.needs_our_osie:
            missing[shown.architecture].append(called(each))
    for architecture, names in missing.items():
        boot, its = ("boots", "its document") if len(names) == 1 else ("boot", "their documents")
        way_out = "`tinkbox osie build` makes one"
        if architecture not in ARCHITECTURES.values():
            way_out = (
                f"none can be built for it: set arch to {' or '.join(dict.fromkeys(ARCHITECTURES.values()))} in {its}"
            )
        yield f"there is no OSIE for {architecture}, which {machines_named(names)} {boot}: {way_out}"


def _boots_here(card: Interface) -> bool:
    return card.allow_pxe and not card.netboot.elsewhere


def started_by_hand(machines: Sequence[Hardware], key: Callable[[Hardware], str]) -> Iterator[str]:
    """Whose workers a person has to start, for they have no MAC to boot by; `key` is what means a machine and no other."""
    without_mac = [each for each in machines if not each.interfaces]
    if without_mac:
        yield (
            f"{machines_named([called(each) for each in without_mac])} cannot boot by the network, for no MAC is told: start the "
            f"worker there with a file of `tinkbox hardware credential {quote(key(without_mac[0]))}`, unless one works there already"
        )
