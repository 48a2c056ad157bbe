"""The doctor: from what was seen to likely causes.  Pure: a case goes in, diagnoses come out."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from tinkbox.engine.doctor.blame import aimed_at, blamed, may_explain
from tinkbox.engine.doctor.case import BOOTING, Case, Duty, Fault, Finding, in_touch_anyway, moment
from tinkbox.engine.doctor.rules.appliance import (
    address_missing,
    arp_silent,
    audit_broken,
    audit_unguarded,
    audit_unsent,
    clock_behind,
    clock_jumped,
    clock_off,
    database_damaged,
    engine_away,
    image_damaged,
    interface_down,
    interface_gone,
    interface_is_port,
    interface_recreated,
    memory_low,
    no_carrier,
    operator_socket_gone,
    osie_damaged,
    other_version,
    port_unheard,
    registry_unusable,
    secrets_unreadable,
    unclean_end,
)
from tinkbox.engine.doctor.rules.boot_step import boot_step_failed, disk_does_not_boot, silent_disk
from tinkbox.engine.doctor.rules.card import missing_driver, missing_firmware
from tinkbox.engine.doctor.rules.descriptors import descriptors_low
from tinkbox.engine.doctor.rules.disk import (
    deleted_early,
    disk_nearly_full,
    file_size_limited,
    output_not_kept,
    write_refused,
)
from tinkbox.engine.doctor.rules.document import gateway_away, name_server_away, refused_here
from tinkbox.engine.doctor.rules.download import download_stopped
from tinkbox.engine.doctor.rules.encryption import certificate_refused, certificate_trouble
from tinkbox.engine.doctor.rules.engine import machine_engine_away, service_gone
from tinkbox.engine.doctor.rules.firewall import firewall_limits, port_shut, port_taken, replies_refused
from tinkbox.engine.doctor.rules.host import (
    address_taken,
    database_gone,
    leads_elsewhere,
    mtu_small,
    netmask_changed,
    no_route,
    other_appliance,
    reserved_here,
    same_network,
)
from tinkbox.engine.doctor.rules.kernel import (
    disk_errors,
    firmware_asked_for,
    hardware_error,
    hung_task,
    kernel_panic,
    out_of_memory,
    too_hot,
)
from tinkbox.engine.doctor.rules.loader import (
    missing_loader,
    secure_boot,
    silent_loader,
    size_probe,
    transfer_stopped,
    wrong_loader,
)
from tinkbox.engine.doctor.rules.metadata import (
    cloud_init_failed,
    metadata_refused,
    runs_its_own_system,
    user_data_by_address,
)
from tinkbox.engine.doctor.rules.mirror import mirror_away
from tinkbox.engine.doctor.rules.network import (
    address_in_use,
    address_outside,
    answers_for_many,
    arp_unanswered,
    asks_in_vlan,
    held_back,
    nobody_gives_addresses,
    not_directed_here,
    other_boot_server,
    other_server,
    proxy_ignored,
    relay_unreached,
    remembered_address,
    sent_elsewhere,
    spanning_tree,
    too_many_unknown,
    wrong_neighbour,
)
from tinkbox.engine.doctor.rules.pairing import management_controller, same_mac, wrong_mac
from tinkbox.engine.doctor.rules.permission import (
    asked_in_its_name,
    history_lost,
    left_out,
    no_address,
    no_program,
    not_known,
    not_permitted,
    script_refused,
    ticket_refused,
    worker_elsewhere,
)
from tinkbox.engine.doctor.rules.silence import silent_since, silent_worker
from tinkbox.engine.doctor.rules.system import (
    boot_loop,
    clock_is_wrong,
    disk_not_found,
    never_seen,
    no_osie,
    plain_osie,
    ramdisk_too_large,
    silent_osie,
    stalled_boot,
    wrong_architecture,
)
from tinkbox.engine.doctor.rules.work import (
    image_missing,
    other_worker,
    running,
    service_not_ready,
    waiting,
    workflow_failed,
)
from tinkbox.engine.machines.boot_progress import BOOTS
from tinkbox.engine.timeline.sighting_rules import ended_at, is_its_own
from tinkbox.model.command_lines import about
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.reasons import Reason
from tinkbox.model.text import one_line
from tinkbox.model.workflow import BEGUN

_log = logging.getLogger(__name__)
BROKEN: Final = "RuleFailed"  # what a rule is told by that failed itself
SYSLOG_SAYS: Final = "Syslog from the machine's address says: "  # before a cause that only syslog tells
# What a worker reports of an action that the kernel killed.
_CONFIRM_THE_KERNEL: Final = (Reason.OUT_OF_MEMORY, Reason.SIGNAL)


@dataclass(frozen=True, slots=True)
class Rule:
    """`name` is CamelCase and stable, `about` what it looks for.

    One that is `vague` says only that something is wrong: it is silent where another rule `explains` it.  One that is `explained_by`
    others looks at what follows from what they find: it is silent where one of them found something as grave.  One `of_work` looks at
    the workflow alone (`Case.work`), and is asked where a workflow is looked at without the boots of its machine.  One `of_boot`
    is about the way to the worker, or about what runs where it does not: while that is in touch, what it finds is suspect at most.  One that is `by_syslog` rests on syslog alone,
    which any host can send in the machine's name: until the worker falls silent or reports the same, what it finds is suspect at most,
    and its cause says whose word it is.  Of both kinds that stays suspect for ever that the worker was heard of long afterwards.

    `symptom_of` names duties of the appliance without which it finds something: while a fault of the appliance stops one that the
    patient needs, that fault is told in its place, or before it where it explains nothing.  One that `says_least` is read after all
    that are equally grave.  One `of_run` says something of a machine also while the worker of a running action is in touch.
    """

    name: str
    about: str
    look: Callable[[Case], Iterable[Finding]]
    vague: bool = False
    explained_by: frozenset[str] = frozenset()
    of_work: bool = False
    of_boot: bool = False
    by_syslog: bool = False
    explains: bool = True
    says_least: bool = False
    of_run: bool = False
    symptom_of: frozenset[Duty] = frozenset()


# The likelier first: where two are equally grave, people read the upper one first.  docs/doctor.md has a row for each.
RULES: Sequence[Rule] = (
    Rule("InterfaceGone", "a provisioning interface that the host has no more", interface_gone),
    Rule("InterfaceRecreated", "a provisioning interface that was created anew", interface_recreated),
    Rule("InterfaceDown", "a provisioning interface that is switched off", interface_down),
    Rule("InterfaceIsPort", "a provisioning interface that is a port of a bridge or bond", interface_is_port),
    Rule("AddressMissing", "a provisioning interface without our address", address_missing),
    Rule("NetmaskChanged", "a provisioning interface that leads to a part of our network only", netmask_changed),
    Rule("AddressTaken", "another host with the appliance's own address", address_taken),
    Rule("ReservedHere", "an address that is reserved for a machine, and that this host itself has", reserved_here),
    Rule("SameNetwork", "two provisioning interfaces that are plugged into one network", same_network),
    Rule("LeadsElsewhere", "a route that leads to machines by another interface", leads_elsewhere),
    Rule("NoRoute", "a network behind a relay to which this host has no route", no_route),
    Rule("RepliesRefused", "replies that this host does not let out", replies_refused),
    Rule("PortShut", "this host's own firewall", port_shut),
    Rule("PortTaken", "a port of ours that this host diverts to elsewhere", port_taken),
    Rule("FirewallLimits", "this host's own firewall, where it drops a part", firewall_limits),
    Rule("PortUnheard", "packets that this host drops before we get them", port_unheard, of_boot=True),
    Rule("DatabaseGone", "a database whose file was deleted or replaced while it is open", database_gone),
    Rule("DatabaseDamaged", "a database whose pages do not fit together", database_damaged),
    Rule("DescriptorsLow", "file descriptors of tinkbox's process that are used up", descriptors_low, of_run=True),
    Rule("FileSizeLimited", "a limit on what tinkbox's process writes", file_size_limited, of_run=True),
    Rule("WriteRefused", "writes that are refused", write_refused, of_run=True),
    Rule("OutputNotKept", "an action of which nothing can be kept", output_not_kept, of_work=True),
    Rule("DiskNearlyFull", "a disk without room for what is kept", disk_nearly_full),
    Rule("DeletedEarly", "history that was deleted for lack of room", deleted_early),
    Rule("AuditBroken", "an audit of which another program changed lines, or whose key is lost", audit_broken),
    Rule(
        "AuditUnguarded",
        "a database with triggers of another program, or an audit whose table, indexes or triggers are changed",
        audit_unguarded,
    ),
    Rule("AuditUnsent", "a place that does not take the lines of the audit", audit_unsent),
    Rule("SecretsUnreadable", "secrets whose key is missing or another one", secrets_unreadable),
    Rule("OperatorSocketGone", "a data folder whose operator.sock is gone and stays so", operator_socket_gone),
    Rule("RegistryUnusable", "folders of the registry that cannot be used", registry_unusable),
    Rule("ImageDamaged", "images whose files are damaged", image_damaged),
    Rule("OsieDamaged", "files of an OSIE that are missing or not what was built", osie_damaged),
    Rule("EngineAway", "a container engine that services need and that does not answer", engine_away),
    Rule("MirrorAway", "a registry's mirror of which nothing comes", mirror_away),
    Rule("MemoryLow", "a host with hardly any memory left", memory_low),
    Rule("UncleanEnd", "an appliance that ended without being told to", unclean_end),
    Rule("ClockBehind", "a clock that is behind what was stored", clock_behind),
    Rule("ClockOff", "a clock that differs from its time server's", clock_off),
    Rule("ClockJumped", "a clock that was set while tinkbox ran", clock_jumped),
    Rule(
        "CertificateTrouble",
        "a certificate of the doors that ends, cannot be renewed, or lacks the one that signed it",
        certificate_trouble,
    ),
    Rule("ArpSilent", "this host, where it answers no ARP", arp_silent),
    Rule("NoCarrier", "a provisioning interface without a link", no_carrier),
    Rule("OtherAppliance", "another tinkbox on a provisioning network", other_appliance),
    Rule("MtuSmall", "a provisioning interface with small packets", mtu_small),
    Rule("OtherVersion", "an OSIE of another version", other_version),
    Rule("PlainOsie", "an OSIE that cannot speak HTTPS", plain_osie),
    Rule("HistoryLost", "a machine that did what the store does not know", history_lost, of_run=True),
    Rule("SameMac", "two machines with one MAC", same_mac, of_boot=True, explains=False),
    Rule("NotKnown", "a machine that asks, and of which nobody told", not_known, says_least=True),
    Rule("LeftOut", "an unknown machine for which discovery has no place", left_out),
    Rule("NotPermitted", "a known machine that may not boot now", not_permitted),
    Rule("OtherServer", "another DHCP server that gives addresses", other_server, of_boot=True),
    Rule("OtherBootServer", "another server that says what to boot", other_boot_server, of_boot=True),
    Rule(
        "NobodyGivesAddresses",
        "modes proxy and off without another DHCP server",
        nobody_gives_addresses,
        symptom_of=frozenset({Duty.DHCP}),
    ),
    Rule("NotDirectedHere", "mode off, and the other server does not send machines here", not_directed_here),
    Rule("AddressOutside", "an address that lies in none of our networks", address_outside, of_boot=True),
    Rule("AddressInUse", "another host at the machine's address", address_in_use, of_boot=True),
    Rule("AnswersForMany", "a host that answers for many addresses of a pool", answers_for_many),
    Rule("TooManyUnknown", "more unknown machines than are noted", too_many_unknown),
    Rule("RelayUnreached", "a relay that gets no reply of ours", relay_unreached, of_boot=True),
    Rule("HeldBack", "a limit that is reached", held_back),
    Rule("CertificateRefused", "a host that does not take this box's certificate", certificate_refused),
    Rule("NoAddress", "no address to give", no_address, of_boot=True),
    Rule(
        "TicketRefused",
        "a boot ticket that was used twice, or by another host, or cannot be read; a TPM that is missing or another",
        ticket_refused,
    ),
    Rule(
        "WorkerElsewhere",
        "a worker that was started by hand on another host",
        worker_elsewhere,
        explains=False,
        of_run=True,
    ),
    Rule(
        "AskedInItsName",
        "DHCP in a machine's name while the machine itself is there",
        asked_in_its_name,
        explains=False,
        says_least=True,
    ),
    Rule("ScriptRefused", "a boot script that is asked for from another address", script_refused, of_boot=True),
    Rule("NoProgram", "firmware for which there is no boot loader", no_program, of_boot=True),
    Rule("WrongLoader", "a boot loader for another kind of firmware", wrong_loader, of_boot=True),
    Rule("WrongArchitecture", "a hardware document that names another processor", wrong_architecture, of_boot=True),
    Rule(
        "MissingLoader",
        "a boot file that is not served",
        missing_loader,
        of_boot=True,
        symptom_of=frozenset({Duty.OSIE}),
    ),
    Rule(
        "WrongNeighbour",
        "another MAC for the machine's address that stands in this host's ARP table for good",
        wrong_neighbour,
        of_boot=True,
    ),
    Rule(
        "TransferStopped",
        "TFTP that ends after block n",
        transfer_stopped,
        explained_by=frozenset({"WrongNeighbour"}),
        of_boot=True,
        symptom_of=frozenset({Duty.TFTP}),
    ),
    Rule("SecureBoot", "firmware that refuses a boot loader", secure_boot, of_boot=True),
    Rule(
        "ProxyIgnored",
        "firmware that ignores proxy offers",
        proxy_ignored,
        of_boot=True,
        symptom_of=frozenset({Duty.PXE, Duty.TFTP}),
    ),
    Rule("NoOsie", "no OSIE for the machine's architecture", no_osie),
    Rule("RamdiskTooLarge", "too little memory for the OSIE", ramdisk_too_large, of_boot=True),
    Rule(
        "BootStepFailed",
        "a kernel, ramdisk or script that could not be loaded or started",
        boot_step_failed,
        of_boot=True,
        symptom_of=frozenset({Duty.HTTP, Duty.OSIE}),
    ),
    Rule(
        "DownloadStopped",
        "a kernel or ramdisk that came in part over HTTP, or comes slowly",
        download_stopped,
        explained_by=frozenset({"WrongNeighbour"}),
        of_boot=True,
        symptom_of=frozenset({Duty.HTTP}),
    ),
    Rule("DiskNotFound", "no disk, or none that boots", disk_not_found),
    Rule("DiskDoesNotBoot", "a way to the disk that failed", disk_does_not_boot, of_boot=True),
    Rule("MissingDriver", "a card for which the OSIE has no driver", missing_driver),
    Rule("MissingFirmware", "a card that lacks firmware", missing_firmware),
    Rule("ManagementController", "a machine that is registered with its controller's MAC", management_controller),
    Rule("RunsItsOwnSystem", "a machine that is waited for, and boots its disk", runs_its_own_system),
    Rule(
        "CloudInitFailed",
        "an installed system whose cloud-init failed",
        cloud_init_failed,
        of_boot=True,
        of_run=True,
    ),
    Rule("UserDataByAddress", "user-data that an address alone does not get", user_data_by_address),
    Rule("MetadataRefused", "a metadata token that another machine shows", metadata_refused),
    Rule("NameServerAway", "a name server of a document that does not answer, or none", name_server_away, of_work=True),
    Rule("GatewayAway", "a gateway of a document that does not answer, or none", gateway_away, of_work=True),
    Rule("RefusedHere", "a server of this host that does not listen where it was asked", refused_here, of_work=True),
    Rule(
        "WorkflowFailed",
        "a workflow that failed",
        workflow_failed,
        of_work=True,
        explains=False,
        symptom_of=frozenset({Duty.REGISTRY, Duty.ENGINE}),
    ),
    Rule(
        "OutOfMemory",
        "memory of a machine that ran out while an action runs",
        out_of_memory,
        of_work=True,
        by_syslog=True,
    ),
    Rule("KernelPanic", "a kernel that crashed while an action runs", kernel_panic, of_work=True, by_syslog=True),
    Rule(
        "DiskErrors",
        "a disk that does not read or write while an action runs",
        disk_errors,
        of_work=True,
        by_syslog=True,
    ),
    Rule("HardwareError", "errors that processor, memory or bus report", hardware_error, of_work=True, by_syslog=True),
    Rule("TooHot", "a machine that is slowed down for heat", too_hot, of_work=True, by_syslog=True),
    Rule("HungTask", "a process that stands still in the kernel", hung_task, of_work=True, by_syslog=True),
    Rule(
        "FirmwareAskedFor",
        "a driver that asks for firmware while an action runs",
        firmware_asked_for,
        of_work=True,
        by_syslog=True,
    ),
    Rule(
        "SilentWorker",
        "a worker that fell silent while its action runs, or a workflow waits for it",
        silent_worker,
        of_work=True,
    ),
    Rule(
        "MachineEngineAway",
        "a machine whose engine does not answer while its action runs",
        machine_engine_away,
        of_work=True,
    ),
    Rule(
        "OtherWorker",
        "a worker of another version than the appliance",
        other_worker,
        of_work=True,
        explains=False,
        says_least=True,
    ),
    Rule(
        "ImageMissing",
        "an image that a workflow needs, missing or damaged",
        image_missing,
        of_work=True,
        symptom_of=frozenset({Duty.REGISTRY}),
    ),
    Rule(
        "ServiceNotReady",
        "a service that its workflow waits for in vain",
        service_not_ready,
        of_work=True,
        symptom_of=frozenset({Duty.ENGINE}),
    ),
    Rule(
        "ServiceGone",
        "a service that was ready, and is not there any more",
        service_gone,
        of_work=True,
        symptom_of=frozenset({Duty.ENGINE}),
    ),
    Rule(
        "SentElsewhere",
        "a bridge of this host with a static entry for a machine that stands still",
        sent_elsewhere,
        of_boot=True,
        explains=False,
        says_least=True,
    ),
    Rule(
        "ArpUnanswered",
        "firmware that has its address, and that our ARP answers do not reach",
        arp_unanswered,
        explained_by=frozenset({"SentElsewhere"}),
        of_boot=True,
        symptom_of=frozenset({Duty.TFTP, Duty.HTTP}),
    ),
    Rule("AsksInVlan", "a machine whose questions come in tagged for a VLAN", asks_in_vlan),
    Rule(
        "SpanningTree", "a switch port that opens late", spanning_tree, of_boot=True, symptom_of=frozenset({Duty.DHCP})
    ),
    Rule(
        "BootLoop",
        "boots that begin again and again",
        boot_loop,
        explained_by=frozenset({"SameMac"}),
        of_boot=True,
        explains=False,
        says_least=True,
        symptom_of=BOOTING,
    ),
    Rule("SizeProbe", "TFTP that only asked for a file's size", size_probe),
    Rule("RememberedAddress", "a machine that was refused an old address", remembered_address),
    Rule("ClockWrong", "a clock that was far off", clock_is_wrong, explains=False),
    Rule("WrongMac", "an unknown MAC, and a machine that is waited for with one like it", wrong_mac, explains=False),
    Rule(
        "NeverSeen",
        "a machine that is waited for, and was never seen, or not since",
        never_seen,
        vague=True,
        symptom_of=BOOTING,
    ),
    Rule(
        "SilentLoader",
        "a boot loader that arrived, and is silent since",
        silent_loader,
        vague=True,
        of_boot=True,
        symptom_of=BOOTING,
    ),
    Rule(
        "SilentOsie",
        "an OSIE that was sent, and whose worker is silent",
        silent_osie,
        vague=True,
        of_boot=True,
        symptom_of=BOOTING,
    ),
    Rule("SilentDisk", "a machine that was told to boot its new disk, and is silent since", silent_disk, vague=True),
    Rule("Stalled", "a boot that stands still", stalled_boot, vague=True, of_boot=True, symptom_of=BOOTING),
    Rule("Running", "an action that runs and prints nothing", running, vague=True, of_work=True),
    Rule("Waiting", "a workflow that waits, as it should", waiting, vague=True, of_work=True),
)


_BY_NAME: Final = {each.name: each for each in RULES}
_PLACES: Final = {each.name: place for place, each in enumerate(RULES)}
_SAYING_LEAST: Final = frozenset(each.name for each in RULES if each.says_least)


def work_rules() -> Sequence[Rule]:
    """Those that look at a workflow alone."""
    return [each for each in RULES if each.of_work]


def diagnose(case: Case, rules: Sequence[Rule] = RULES) -> tuple[Diagnosis, ...]:
    """What is wrong, or only looks so: the gravest first, then the likeliest.  A rule that fails keeps no other from speaking."""
    found = [each for rule in rules if not (rule.vague or rule.explained_by) for each in _told(case, rule)]
    for rule in (each for each in rules if each.vague or each.explained_by):
        explaining = _explaining(case, rule, rules)
        why = [
            each
            for each in found
            if each.rule in explaining
            and may_explain(case, each.rule, rule.symptom_of)
            and not (each.gravity is Gravity.HARMLESS or each.past)
        ]
        if rule.vague and why:
            continue
        # What fails in the rule itself, and the appliance's own faults, are told all the same.
        found += [each for each in _told(case, rule) if each.rule != rule.name or not _is_as_grave(why, each)]
    if all(each.gravity is Gravity.HARMLESS for each in found):
        found += [_diagnosis(case, _BY_NAME[each.rule], each.rule, each.found) for each in aimed_at(case)]
    once: dict[tuple[str, str, str], Diagnosis] = {}  # a fault of the appliance may explain several symptoms
    for each in found:
        once.setdefault((each.rule, each.subject, each.cause), each)
    return tuple(sorted(once.values(), key=reading_order))


def faults(case: Case) -> tuple[Fault, ...]:
    """What is wrong with the appliance itself and stops duties of it, the likeliest first; `case` is the appliance's own."""
    return tuple(
        Fault(rule=name, found=each, stops=each.stops)
        for rule in RULES
        for name, each in _looked(case, rule)
        if each.stops is not None
    )


def reading_order(found: Diagnosis) -> tuple[int, bool, bool, int]:
    """What people read first: the gravest, of these what says why its patient is where it is, and of these the likeliest."""
    return found.gravity.rank, not found.leads, found.rule in _SAYING_LEAST, _PLACES.get(found.rule, len(_PLACES))


def first_line(found: Iterable[Diagnosis]) -> Diagnosis | None:
    """The one that says why a machine or a workflow is where it is, wherever there is room for one; None: none does."""
    return min((each for each in found if each.leads), key=reading_order, default=None)


def _explaining(case: Case, rule: Rule, rules: Sequence[Rule]) -> Collection[str]:
    """The names of what keeps a rule silent, where it is found."""
    if not rule.vague:
        return rule.explained_by
    return {each.name for each in rules if _explains(each, rule)} | {each.rule for each in case.faults}


def _is_as_grave(why: Iterable[Diagnosis], than: Diagnosis) -> bool:
    """Whether any of these is as grave as another, or graver."""
    return any(each.gravity.rank <= than.gravity.rank for each in why)


def _explains(rule: Rule, vague: Rule) -> bool:
    """Whether what a rule finds says more than the vague one.  What is wrong with a workflow says nothing of its machine's boot."""
    return rule.explains and (vague.of_work or not rule.of_work)


def _told(case: Case, rule: Rule) -> Iterator[Diagnosis]:
    """What is told of what a rule finds; of a symptom the faults of the appliance that explain it."""
    for name, found in _looked(case, rule):
        is_symptom = name == rule.name and found.gravity is not Gravity.HARMLESS
        explaining = [*blamed(case, rule.symptom_of)] if is_symptom else []
        for each in explaining:
            graver = min(each.found.gravity, found.gravity, key=lambda gravity: gravity.rank)
            both = replace(each.found, gravity=graver, evidence=(*each.found.evidence, *found.evidence))
            yield _diagnosis(case, rule, each.rule, both)
        if not (explaining and rule.explains):
            yield _diagnosis(case, rule, name, found)


def _looked(case: Case, rule: Rule) -> Iterator[tuple[str, Finding]]:
    """What a rule finds, each with the name that it is told by: the rule's own, or BROKEN where it failed itself."""
    try:
        for each in rule.look(case):
            yield rule.name, _weighed(case, rule, each)
    except Exception as error:  # whatever is wrong with one rule, the others are asked
        _log.exception("the doctor's rule %s failed", rule.name, extra={"action": f"doctor.{rule.name}"})
        yield (
            BROKEN,
            Finding(
                gravity=Gravity.SUSPECT,
                cause=f"The doctor's rule {rule.name} failed, so nothing is known of {rule.about}.",
                evidence=(f"{moment(case.now)} {type(error).__name__}: {one_line(str(error), 200)}",),
                remedy="This is a defect of tinkbox: report it with what the appliance's log says of it.",
            ),
        )


def _weighed(case: Case, rule: Rule, found: Finding) -> Finding:
    """What a rule found, as far as it can be believed beside what the worker does: any host can send such things in its name."""
    if rule.of_boot:
        return _beside_worker(case, rule, found)
    return _by_syslog(case, rule, found) if rule.by_syslog else found


def _by_syslog(case: Case, rule: Rule, found: Finding) -> Finding:
    """The same of lines that came by syslog: nothing but the worker's own channel, or its silence, can confirm them."""
    work = case.work
    if work is not None and work.reason in _CONFIRM_THE_KERNEL:
        return found
    outlived = _outlived(case, rule, found)
    if outlived is None and silent_since(work, case.since, case.now) is not None:
        return found
    told = replace(found, cause=f"{SYSLOG_SAYS}{found.cause}")
    return _doubted(told, outlived) if found.gravity is Gravity.FAULT else told


def _beside_worker(case: Case, rule: Rule, found: Finding) -> Finding:
    """The same of a boot whose worker is in touch, or was afterwards: the machine has come that far."""
    heard = case.worker_heard or _outlived(case, rule, found)
    return found if heard is None else _doubted(found, heard)


def _doubted(found: Finding, heard: datetime | None) -> Finding:
    """The same as suspect at most, with when the worker was heard of `heard` all the same, if it was."""
    evidence = [in_touch_anyway(heard)] if heard is not None else []
    gravity = Gravity.SUSPECT if found.gravity is Gravity.FAULT else found.gravity
    return replace(found, gravity=gravity, evidence=(*found.evidence, *evidence))


def _outlived(case: Case, rule: Rule, found: Finding) -> datetime | None:
    """When the worker was heard of last, if that was after what a rule found; None: it was not, so that this may silence it.

    Within the last poll before, the worker may have died of it: the same has to be found in what came since then alone.
    """
    work = case.work
    if work is None or work.contact is None:
        return None
    if any(
        each.at > work.contact and each.stage in BOOTS and is_its_own(each.stage, each.facts) for each in case.sightings
    ):
        return None  # that was another boot: the machine itself fetched a script since
    begin = work.contact - work.polls
    since = replace(
        case,
        sightings=tuple(each for each in case.sightings if ended_at(each) >= begin),
        said=tuple(each for each in case.said if each.at >= begin),
        work=replace(work, kernel=tuple(each for each in work.kernel if each.at >= begin)),
    )
    again = any(each.subject == found.subject and each.gravity is found.gravity for each in rule.look(since))
    return None if again else work.contact


def _leads(case: Case, rule: Rule, found: Finding) -> bool:
    """Whether it can say why its patient is where it is: of a running action that is not what was seen of the boot before."""
    if found.gravity is Gravity.HARMLESS or found.past:
        return False
    work = case.work
    if work is None or work.action_state not in BEGUN:
        return True
    in_touch = silent_since(work, case.since, case.now) is None
    if rule.of_work:
        # That a worker is silent is surer than what syslog alone says.
        return in_touch or not rule.by_syslog or found.gravity is Gravity.FAULT
    return found.gravity is Gravity.FAULT and (rule.of_run or not in_touch)


def _diagnosis(case: Case, rule: Rule, name: str, told: Finding) -> Diagnosis:
    patient = case.mac or (case.work.hardware_id if case.work else "")
    return Diagnosis(
        rule=name,
        gravity=told.gravity,
        cause=told.cause,
        evidence=told.evidence,
        remedy=about(told.remedy, machine=patient, template=case.work.template if case.work and rule.of_work else ""),
        machine=case.mac or "",
        workflow=case.work.id if case.work else "",
        subject=told.subject,
        leads=_leads(case, rule, told),
        past=told.past,
    )
