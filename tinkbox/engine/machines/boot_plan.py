"""What a booting machine is told to boot.  Pure."""

import shlex
from dataclasses import dataclass

from tinkbox.model.boot import Boot, Plan, Stage, Supply
from tinkbox.model.documents.field_names import forbids_pxe
from tinkbox.model.hardware import Hardware, Interface

MAX_BOOTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class BootFacts:
    """What the decision about a booting machine rests on.

    `left` tells that an action sent it away by intention, and that nothing is left for it to do before its own disk has booted.
    One that is `retired` is told nothing.
    `supply` is the boot script that its workflow brings, None: it boots the OSIE.  With `https` it boots by HTTPS alone.
    """

    hardware_id: str
    interface: Interface
    ticket: bool
    installed: bool
    boots: int
    furthest: Stage | None
    left: bool = False
    retired: bool = False
    workflow: str = ""
    supply: Supply | None = None
    https: bool = False


def dhcp_plan(facts: BootFacts, *, netboots: bool) -> Plan | None:
    """What to tell a machine that asks by DHCP; None is silence.

    The seed's rule: a machine with a ticket boots the OSIE, or what its workflow supplies, one without it is left
    to its own disk when a workflow once succeeded on it, and is ignored when none did.  A machine that its last
    action sent away is left to its own disk as well.  A script in its hardware document stands in the OSIE's place, and
    needs no ticket; it is not booted again where a workflow once succeeded, for that may be what installed the machine.
    A card whose document says `allow_workflow: false` boots as if there were no ticket.
    One whose document names another boot server is sent there, whatever waits for it.  One that does not netboot only
    wants its address, and one that another server gives its address to is not answered at all.
    """
    if facts.retired or not facts.interface.dhcp:
        return None
    if not netboots:
        return Plan(boot=Boot.NOTHING, hardware_id=facts.hardware_id, interface=facts.interface)
    if facts.interface.netboot.elsewhere:
        return Plan(boot=Boot.ELSEWHERE, hardware_id=facts.hardware_id, interface=facts.interface)
    return netboot_plan(facts)


def netboot_plan(facts: BootFacts) -> Plan | None:
    """What to tell a machine that netboots."""
    boot, reason = _netboot(facts)
    if boot is None:
        return None
    return Plan(
        boot=boot,
        hardware_id=facts.hardware_id,
        interface=facts.interface,
        workflow=facts.workflow,
        reason=reason,
        script=facts.supply.url if facts.supply and boot is Boot.WORKFLOW else "",
        ticket=facts.ticket and facts.interface.allow_workflow,
        https=facts.https,
    )


def barred_reason(hardware: Hardware, *, ticket: bool) -> str:
    """Why a machine that has a workflow to boot for may not, by its hardware document; nothing when it may."""
    cards = hardware.interfaces
    if not ticket or not cards:
        return ""
    if not any(each.allow_pxe for each in cards):
        follows = ", so it may not boot over the network" if cards[0].pxe_told else ""
        return f"its hardware document {forbids_pxe(cards[0])}{follows}"
    if not any(each.allow_pxe and each.allow_workflow for each in cards):
        return "its hardware document says allow_workflow: false, so it may not boot for its workflow"
    if not any(each.allow_pxe and each.allow_workflow and not each.netboot.elsewhere for each in cards):
        return "its hardware document names another boot server, so it cannot boot from here"
    return ""


def freeing(key: str) -> str:
    """The command by which a machine's boots are counted anew: the same document counts when it is pushed."""
    return f"`tinkbox export hardware/{key} | tinkbox hardware push`"


def parked_reason(*, ticket: bool, boots: int, furthest: Stage | None, key: str = "") -> str:
    """Why a machine is parked, or nothing when it is not; for who is told its `key` with what frees it.

    The machine's own console has no use for a command.
    """
    if not ticket or boots < MAX_BOOTS:
        return ""
    typed = f": {freeing(shlex.quote(key))} frees it" if key and "`" not in key else ""
    return (
        f"{boots} boots without progress, the furthest {furthest or Stage.SCRIPT}; look at its console, then push "
        f"its hardware again or create a new workflow to let it boot{typed}"
    )


def _netboot(facts: BootFacts) -> tuple[Boot | None, str]:
    own = facts.interface.netboot
    if facts.retired or not facts.interface.allow_pxe or own.elsewhere:
        return None, ""
    ticket = facts.ticket and facts.interface.allow_workflow
    if facts.left or (facts.installed and not ticket):
        return Boot.LOCAL_DISK, ""
    if not ticket:
        return _by_https(Boot.OWN_SCRIPT, "", facts) if own.has_script else (None, "")
    reason = parked_reason(ticket=facts.ticket, boots=facts.boots, furthest=facts.furthest)
    if reason:
        return Boot.PARKED, reason
    if facts.supply:
        boot, reason = _supplied(facts.supply)
    elif own.has_script:
        boot, reason = Boot.OWN_SCRIPT, ""
    else:
        boot, reason = (Boot.OWN_OSIE if own.osie else Boot.OSIE), ""
    return _by_https(boot, reason, facts)


def _by_https(boot: Boot, reason: str, facts: BootFacts) -> tuple[Boot, str]:
    """The same, unless a machine that boots by HTTPS alone would load something else by another way: it waits for a person."""
    own = facts.interface.netboot
    named: tuple[tuple[str, str], ...] = ()
    match boot:
        case Boot.WORKFLOW if facts.supply:
            named = ((f"service {facts.supply.service}", facts.supply.url),)
        case Boot.OWN_SCRIPT:
            named = (("its hardware document", own.script_url),)
        case Boot.OWN_OSIE if own.osie:
            named = tuple(("its hardware document", each) for each in (own.osie.kernel, own.osie.initramfs))
    for who, url in named:
        if facts.https and url and not url.lower().startswith("https://"):
            return Boot.PARKED, f"it boots by HTTPS alone, and {who} names {url}"
    return boot, reason


def _supplied(supply: Supply) -> tuple[Boot, str]:
    if supply.ready:
        return Boot.WORKFLOW, ""
    return Boot.WAITING, supply.standing or f"service {supply.service} is not ready"
