"""The first half of `tinkbox init`: which network machines are on, and the configuration that says so."""

import argparse
import difflib
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.output.printable import clean, clean_block
from tinkbox.cli.terminal.questions import Questions
from tinkbox.model.diagnosis import Rival
from tinkbox.model.errors import Invalid, NotFound, Problem, Unavailable
from tinkbox.model.text import counted
from tinkbox.settings.dhcp import MODES
from tinkbox.setup.proposals import (
    Choice,
    HostInterface,
    changed_config_text,
    config_text,
    persistent_address,
    proposed_address,
    proposed_interface,
    proposed_mode,
    proposed_pool,
    refuse_taken,
    stranded,
)

if TYPE_CHECKING:
    from tinkbox.client.operator import Document
    from tinkbox.settings.all_settings import Settings


def configured(chosen: argparse.Namespace, ask: Questions, config: Path, changed: list[str]) -> "Settings":
    """The settings that hold from now on; `changed` gets what was changed for that.

    A file that is there counts as answered, unless a flag says something of the network.
    """
    from tinkbox.settings import load

    follows = _unit_to_be(chosen, config)
    decided = any((chosen.interface, chosen.address, chosen.dhcp, chosen.pool, chosen.data))
    if config.is_file() and not decided:
        settings = load(config)
        print(clean(f"configuration   {config} is kept as it is"))
        _check(settings, config, config, follows)
        return settings
    before = load(config) if config.is_file() else None
    with ExitStack() as given:
        choice = _choose(chosen, ask, before, given)
        text = config_text(choice) if before is None else changed_config_text(config.read_text(), before, choice)
        with tempfile.TemporaryDirectory() as scratch:
            draft = Path(scratch, "tinkbox.yaml")
            draft.write_text(text)
            settings = load(draft)
            _check(settings, draft, config, follows)
    if choice.is_new_address:
        _keep_address(choice, changed)
    if _write(config, text, ask):
        changed.append(str(config))
    return load(config)


def _keep_address(choice: Choice, changed: list[str]) -> None:
    from tinkbox.setup.host import keep_address

    kept, interface, address = keep_address(choice), choice.interface, choice.address
    changed.append(f"the address of {interface}")
    if kept is not None:
        print(clean(f"address         {address} is on {interface}, also after a reboot: {kept}"))
    else:
        print(clean(f"address         {address} is on {interface} until the next reboot. To keep it:"))
        print(persistent_address(choice), end="")


def _choose(chosen: argparse.Namespace, ask: Questions, before: "Settings | None", given: ExitStack) -> Choice:
    """What flags, the file that was there `before`, and answers say; for as long as `given` lasts, with the interface's address."""
    from tinkbox.setup.host import given_address, host_interfaces, host_networks

    found, networks = host_interfaces(), host_networks()
    if before is None or chosen.interface:
        _refuse_without_answers(chosen, ask, found, networks)
    elif not ask.can_ask:
        raise Invalid(
            "there is no terminal to ask at: add --yes, and what your flags say is changed without a question"
        )
    interface = _interface(chosen, ask, found, before)
    address = _address(chosen, ask, interface, networks, _written_address(before, interface))
    if before is not None and (chosen.address or interface.name not in before.interfaces[:1]):
        _warn_of_stranded(before, address.network)
    choice = Choice(interface=interface.name, address=address, mode=MODES[0], data=chosen.data)
    is_new = interface.address is None or (interface.address.ip != address.ip and chosen.set_address)
    if is_new:
        _refuse_unless_agreed(chosen, ask, choice)
        given.enter_context(given_address(interface, address))
    mode = chosen.dhcp or (before.dhcp.mode if before else _mode(ask, interface.name))
    pool = _pool(chosen, ask, address, before.dhcp.terms.pool if before else None) if mode == "pool" else None
    if chosen.pool and mode != "pool":
        raise Invalid("--pool is for --dhcp pool: leave it out, or choose that")
    return Choice(
        interface=interface.name,
        address=address,
        mode=mode,
        pool=pool,
        data=chosen.data,
        other_address=bool(chosen.address),
        is_new_address=is_new,
    )


def _refuse_without_answers(
    chosen: argparse.Namespace, ask: Questions, found: Sequence[HostInterface], networks: Mapping[str, IPv4Network]
) -> None:
    """Raise Invalid where there is nobody to ask, with the flags that answer all questions."""
    if ask.can_ask:
        return
    if chosen.interface:
        proposed: HostInterface | None = _known(chosen.interface, found)
    else:
        proposed = proposed_interface(found)
    named = chosen.interface or (proposed.name if proposed else "IF")
    address = chosen.address or (str(proposed_address(proposed, networks.values())) if proposed else "A/P")
    raise Invalid(
        f"there is no terminal to ask at: type `tinkbox init --yes --interface {named} --address {address} --dhcp "
        f"{chosen.dhcp or MODES[0]}`, and --set-address when {named} has no address yet ({_listed(found)})"
    )


def _interface(
    chosen: argparse.Namespace, ask: Questions, found: Sequence[HostInterface], before: "Settings | None"
) -> HostInterface:
    known = {each.name: each for each in found}

    def read(name: str) -> HostInterface:
        if name not in known:
            raise Invalid(f"which interface are machines on? name one with --interface: {_listed(found)}")
        return known[name]

    if not found:
        raise NotFound("this host has no network interface for machines: plug one in, and look with `ip link`")
    named = chosen.interface or next(iter(before.interfaces if before else ()), "")
    if named:
        return _known(named, found)
    print("Which network are the machines on? The interfaces of this host:")
    for each in found:
        print(clean(f"  {each}"))
    proposed = proposed_interface(found)
    return ask.answer("interface", proposed.name if proposed else "", read)


def _known(name: str, found: Sequence[HostInterface]) -> HostInterface:
    for each in found:
        if each.name == name:
            return each
    raise NotFound(f"machines cannot be on {name}: name one of these with --interface: {_listed(found)}")


def _address(
    chosen: argparse.Namespace,
    ask: Questions,
    interface: HostInterface,
    networks: Mapping[str, IPv4Network],
    written: IPv4Interface | None,
) -> IPv4Interface:
    def read(text: str) -> IPv4Interface:
        try:
            told = IPv4Interface(text)
        except ValueError as error:
            raise Invalid(f"an address is like 172.30.0.1/24: {error}") from None
        if "/" not in text:
            if interface.address is None or told.ip not in interface.address.network:
                raise Invalid(f"say how large its network is, such as {text}/24")
            told = IPv4Interface((told.ip, interface.address.network.prefixlen))
        refuse_taken(told, interface.name, networks)
        return told

    if chosen.address:
        return read(chosen.address)
    if written is not None:
        return written
    if interface.address is not None:
        return interface.address
    return ask.answer(
        f"{interface.name} has no address; the appliance's", str(proposed_address(interface, networks.values())), read
    )


def _warn_of_stranded(before: "Settings", network: IPv4Network) -> None:
    """Name how many machines would have no address on the appliance's network; a stopped appliance says nothing."""
    networks = [network, *(each.network for each in before.dhcp.subnets)]
    count = stranded(_reserved(before.data), networks)
    if count:
        print(
            clean(
                f"warning: {counted(count, 'known machine')} with reserved addresses, none of them in {network}: they "
                "cannot boot there until `tinkbox hardware push` gives them other addresses (`tinkbox hardware list`)"
            ),
            flush=True,
        )


def _reserved(data: Path) -> list[list[IPv4Address]]:
    """The reserved addresses of each machine that the running appliance knows."""
    from tinkbox.client.operator import Operator
    from tinkbox.client.operator.quick_connection import QuickConnection, answer_of

    async def asked() -> "list[Document]":
        async with Operator(QuickConnection(socket=data / "operator.sock")) as operator:
            return await operator.hardware.all()

    try:
        machines = answer_of(asked())
    except Unavailable:
        return []
    return [[IPv4Address(each["address"]) for each in machine["interfaces"] if each["address"]] for machine in machines]


def _written_address(before: "Settings | None", interface: HostInterface) -> IPv4Interface | None:
    """The address that the file has for this interface."""
    if before is None or before.address is None or interface.name not in before.interfaces:
        return None
    prefix = interface.address.network.prefixlen if interface.address else 24
    return IPv4Interface((before.address, prefix))


def _refuse_unless_agreed(chosen: argparse.Namespace, ask: Questions, choice: Choice) -> None:
    """Raise Invalid, with what to type, where the interface is not to be given its address."""
    line = f"ip link set {choice.interface} up && ip address add {choice.address} dev {choice.interface}"
    if chosen.set_address:
        return
    if chosen.yes or not ask.agreed(f"give {choice.interface} the address {choice.address}", proposed=True):
        raise Invalid(
            f"{choice.interface} needs the address first: type `{line}`, or --set-address; then `tinkbox init` again"
        )


def _mode(ask: Questions, interface: str) -> str:
    def read(text: str) -> str:
        if text not in MODES:
            raise Invalid(f"one of {', '.join(MODES)}")
        return text

    others = _others(interface)
    for each in others:
        gives = f"gives addresses such as {each.offered}" if each.offered else "says what to boot"
        print(clean(f"another DHCP server answers on {interface}: {each.server} ({each.mac}) {gives}"))
    return ask.answer(f"who gives machines their addresses ({', '.join(MODES)})", proposed_mode(others), read)


def _others(interface: str) -> Sequence[Rival]:
    """The DHCP servers that answer there; none where that cannot be asked."""
    import asyncio

    from tinkbox.boot.dhcp.other_servers import LISTEN_SECONDS, other_servers_on

    print(
        clean(f"asking on {interface} for {LISTEN_SECONDS:.0f} seconds whether another DHCP server is there"),
        flush=True,
    )
    try:
        return asyncio.run(other_servers_on([interface], lambda: secrets.token_bytes(9))).rivals
    except Unavailable as error:
        print(clean(f"  it was not asked {error}"))
        return ()


def _pool(
    chosen: argparse.Namespace,
    ask: Questions,
    address: IPv4Interface,
    written: tuple[IPv4Address, IPv4Address] | None,
) -> tuple[IPv4Address, IPv4Address]:
    from tinkbox.settings.dhcp import address_range

    def read(text: str) -> tuple[IPv4Address, IPv4Address]:
        found = address_range.read(text, None)
        if found is None:
            raise Invalid("a pool is FIRST-LAST, such as 172.30.0.100-172.30.0.199")
        return found

    if chosen.pool:
        return read(chosen.pool)
    if written is not None and all(each in address.network for each in written):
        return written
    first, last = proposed_pool(address)
    return ask.answer("addresses to lend", f"{first}-{last}", read)


def _unit_to_be(chosen: argparse.Namespace, config: Path) -> str:
    """The text of the unit that is installed after this; empty: none is."""
    from tinkbox.cli.nouns.init.steps import no_unit_because
    from tinkbox.setup.placing import packed

    return "" if chosen.no_unit or no_unit_because(config) else packed("tinkbox.service").decode()


def _check(settings: "Settings", file: Path, becomes: Path, follows: str) -> None:
    """Look at ports, files and folders as `serve --check` does; raises Invalid with all that keeps the appliance from serving."""
    import asyncio

    from tinkbox.app import check

    lines: list[str] = []
    checked = asyncio.run(
        check(settings, lines.append, file, draft=True, osie_follows=True, becomes=becomes, follows=follows)
    )
    if checked.refused:
        wrong = dict.fromkeys([*checked.refused, *checked.borne])
        raise Invalid("this host is not ready for it, and nothing was written", [Problem(text=each) for each in wrong])
    for line in (
        *(each for each in lines if each.startswith("warning:")),
        *(f"warning: {each}" for each in checked.borne),
    ):
        print(clean(line))


def _write(config: Path, text: str, ask: Questions) -> bool:
    """Have the file say this, unless a person wants what it says now; returns whether it changed."""
    from tinkbox.setup.placing import put, put_instead

    before = config.read_text(errors="replace") if config.is_file() else None
    if before == text:
        print(clean(f"configuration   {config} says all of it already"))
        return False
    if before is not None:
        changes = difflib.unified_diff(before.splitlines(True), text.splitlines(True), str(config), "what init writes")
        print(clean_block("".join(changes)), end="")
        if not ask.agreed(f"replace {config}", proposed=ask.decides):
            print(clean(f"configuration   {config} is kept as it is"))
            return False
        print(clean(f"configuration   what {config} said stays in {put_instead(config, text.encode())}"))
    else:
        put(config, text.encode())
    print(clean(f"configuration   {config} is written"))
    return True


def _listed(found: Sequence[HostInterface]) -> str:
    return ", ".join(map(str, found)) or "none"
