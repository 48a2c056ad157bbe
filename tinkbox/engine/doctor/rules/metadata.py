"""The doctor's rules about installed systems: their metadata and their cloud-init."""

from collections.abc import Iterator
from datetime import datetime

from tinkbox.engine.doctor.case import Case, Finding, Work, line, of, text
from tinkbox.engine.doctor.rules.network import asked_in_vlan
from tinkbox.engine.doctor.rules.pairing import is_controller
from tinkbox.engine.doctor.rules.system import OSIE_STARTS_WITHIN
from tinkbox.engine.timeline.sighting_rules import ended_at, is_its_own
from tinkbox.model.boot import OWN_SYSTEM, Asker, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.sightings import Sighting
from tinkbox.model.workflow import FINAL

_SHOWN = 4
# What firmware and boot loaders do, and what follows from it; their questions for an address come before.
_FROM_THE_NETWORK = (
    Stage.BOOT_SERVER,
    Stage.LOADER_REQUESTED,
    Stage.LOADER_FAILED,
    Stage.LOADER,
    Stage.SCRIPT_REFUSED,
    Stage.SCRIPT,
    Stage.DISCOVERY,
    Stage.SUPPLIED,
    Stage.OWN_BOOT,
    Stage.KERNEL,
    Stage.RAMDISK,
    Stage.WORKER,
)


def cloud_init_failed(case: Case) -> Iterator[Finding]:
    """Modules of the installed system's cloud-init that failed or warned in the last boot."""
    told = [each for each in _newest(case, Stage.CLOUD_INIT) if _is_of_this_work(case.work, each)]
    failed = [each for each in told if text(each, "result") == "FAIL"]
    warned = [each for each in told if text(each, "result") == "WARN"]
    if not failed and not warned:
        return
    # A stage fails because one of its modules did, which says more.
    bad = [each for each in failed or warned if "/" in text(each, "name")] or failed or warned
    names = ", ".join(dict.fromkeys(_bare(text(each, "name")) for each in bad[:_SHOWN]))
    yield Finding(
        gravity=Gravity.FAULT if failed else Gravity.SUSPECT,
        cause=f"The installed system's cloud-init {'failed' if failed else 'warned'} in {names}.",
        evidence=tuple(map(line, bad[:_SHOWN])),
        remedy="Log in and read /var/log/cloud-init.log and /var/log/cloud-init-output.log, then correct the user-data and "
        "install anew; `tinkbox template validate` finds what is no valid cloud-config.",
    )


def runs_its_own_system(case: Case) -> Iterator[Finding]:
    """A workflow waits for a machine that runs what is on its disk, and has not tried to boot from the network since."""
    own = of(case.sightings, *OWN_SYSTEM)
    if not case.ticket or case.left or not own or is_controller(case):
        return
    heard = max(map(ended_at, own))
    # Its worker runs in the OSIE, and any host that knows a token can report in its name.
    if case.worker_heard is not None or (case.work is not None and case.work.contact and case.work.contact >= heard):
        return
    if any(_tries_the_network(each) and ended_at(each) > heard for each in case.sightings):
        return
    in_vlan = asked_in_vlan(case)
    if in_vlan is not None and not in_vlan.by_system:
        return  # its firmware asked since, where it is not heard
    if (sent := _osie_sent(case, heard)) is not None:
        yield _ended_in_osie(sent, own[-1], case.now)
        return
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause="A workflow waits for this machine, and when it was heard of last it ran the system on its disk: it has not booted from the network.",
        evidence=(line(own[-1]),),
        remedy="Reboot it from the network: choose network boot or PXE in its firmware's boot menu, or set the network before "
        "the disk in its boot order.",
    )


def _osie_sent(case: Case, heard: datetime) -> Sighting | None:
    """When it fetched the OSIE for what it is waited for, and no worker came of it before its own system was heard of."""
    own = [each for each in of(case.sightings, Stage.RAMDISK) if is_its_own(each.stage, each.facts)]
    sent = [each for each in own if ended_at(each) <= heard]
    if not sent or (case.waited_since is not None and sent[-1].at < case.waited_since):
        return None
    came = any(each.at >= sent[-1].at for each in of(case.sightings, Stage.WORKER, Stage.INVENTORY))
    return None if came else sent[-1]


def _ended_in_osie(sent: Sighting, own: Sighting, now: datetime) -> Finding:
    """Any host can ask like its system: until its worker is late, that is all there is."""
    return Finding(
        gravity=Gravity.FAULT if (now - ended_at(sent)).total_seconds() > OSIE_STARTS_WITHIN else Gravity.SUSPECT,
        cause="A workflow waits for this machine, which fetched the OSIE and then booted the system on its disk: its worker never spoke.",
        evidence=(line(sent), line(own)),
        remedy="The OSIE ended before its worker ran: boot the machine from the network once more, and look at its screen or serial console "
        "for the last lines. A panic while unpacking means too little memory. `tinkbox hardware get MACHINE` shows what its syslog said.",
    )


def user_data_by_address(case: Case) -> Iterator[Finding]:
    """An installed system that wanted its user-data without showing a token."""
    refused = [each for each in _newest(case, Stage.METADATA) if text(each, "refused")]
    if refused:
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause="Its system asked for its user-data by its address alone, and got none.",
            evidence=tuple(map(line, refused[-_SHOWN:])),
            remedy="Have it ask below $TINKBOX_METADATA, which has the token of its workflow, or set metadata.by_address: all in "
            "tinkbox.yaml: then every host that takes this machine's address can read its user-data.",
        )


def metadata_refused(case: Case) -> Iterator[Finding]:
    """A machine that shows another one's metadata token, seen from either."""
    for stage, cause in (
        (Stage.METADATA_REFUSED, "This machine shows the metadata token of another machine, so it gets no metadata."),
        (Stage.METADATA_STOLEN, "Another machine shows this machine's metadata token; it was refused."),
    ):
        if told := _newest(case, stage):
            yield Finding(
                gravity=Gravity.FAULT,
                cause=cause,
                evidence=tuple(map(line, told[-_SHOWN:])),
                remedy="If its disk was cloned, install each machine by a workflow of its own. If somebody took the token, create "
                "the workflow anew: then the old token counts no more.",
            )


def _tries_the_network(seen: Sighting) -> bool:
    """Whether the machine's firmware or a boot loader did that, or what they boot."""
    asks = seen.stage is Stage.DISCOVER and (text(seen, "asker") != Asker.SYSTEM or "architecture" in seen.facts)
    return (asks or seen.stage in _FROM_THE_NETWORK) and is_its_own(seen.stage, seen.facts)


def _bare(name: str) -> str:
    """A module without its stage, or a stage."""
    stage, slash, module = name.partition("/")
    return module.removeprefix("config-") if slash else stage


def _is_of_this_work(work: Work | None, seen: Sighting) -> bool:
    """Whether a report may be about the machine's workflow: it came since that was created, and while that is under way of no other one's system."""
    if work is None:
        return True
    of_another = text(seen, "workflow") not in ("", work.id)
    return seen.at >= work.created_at and (work.state in FINAL or not of_another)


def _newest(case: Case, stage: Stage) -> tuple[Sighting, ...]:
    """Those of the last boot in which there are any, unless the machine was sent to the OSIE since, or was in it."""
    since = of(case.sightings, Stage.SCRIPT, Stage.SUPPLIED, Stage.OWN_BOOT, Stage.WORKER)
    return tuple(each for each in of(case.sightings, stage) if not since or each.at >= since[-1].at)
