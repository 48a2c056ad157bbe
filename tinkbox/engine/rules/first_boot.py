"""How an action that waits for an installed system ends, from what that told.  Pure.

A system that phones home is up, whatever its cloud-init still does; its last report comes a moment later.  One whose
cloud-init reports its end without a phone-home is up as well: its user-data has a `phone_home` of its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from tinkbox.model.boot import Stage
from tinkbox.model.metadata import MAX_FAILURES, FirstBoot, ModuleFailure
from tinkbox.model.reasons import Reason
from tinkbox.model.sightings import Sighting
from tinkbox.model.text import counted, quoted
from tinkbox.model.workflow import Outcome, State

# For the last report of a system that phoned home: phoning home is one of the last things that cloud-init does.
SETTLING: Final = timedelta(seconds=15)
_SHOWN: Final = 3


def with_failure(first_boot: FirstBoot, failure: ModuleFailure) -> FirstBoot:
    """With one failure more, unless there are as many as are kept, or the same is there already."""
    if len(first_boot.failures) >= MAX_FAILURES or any(
        (each.module, each.result) == (failure.module, failure.result) for each in first_boot.failures
    ):
        return first_boot
    return replace(first_boot, failures=(*first_boot.failures, failure))


def concludes_at(first_boot: FirstBoot) -> datetime | None:
    """When it is decided how the action ends; None: the system is not up yet."""
    if first_boot.phoned_at is None:
        return first_boot.finished_at
    if not first_boot.reports or first_boot.finished_at is not None:
        return first_boot.phoned_at
    return first_boot.phoned_at + SETTLING


def concluded(first_boot: FirstBoot, machine: str, now: datetime) -> Outcome | None:
    """How the action ends that waits for the system on a machine, which people call so; None: it waits on."""
    when = concludes_at(first_boot)
    if when is None or when > now:
        return None
    up = is_up(first_boot, machine)
    if first_boot.failed:
        return Outcome(state=State.FAILED, reason=Reason.CLOUD_INIT_FAILED, message=f"{what_failed(first_boot)}; {up}")
    return Outcome(state=State.SUCCESS, message=up)


def is_up(first_boot: FirstBoot, machine: str) -> str:
    """`node7 is up at 172.30.0.11, host key SHA256:… (ed25519)`."""
    place = f" at {first_boot.address}" if first_boot.address else ""
    key = next(iter(first_boot.host_keys), None)
    if key is not None:
        return f"{machine} is up{place}, host key {key.fingerprint} ({key.kind})"
    return f"{machine} is up{place}; it told no host key"


def what_failed(first_boot: FirstBoot) -> str:
    """Which modules of cloud-init failed, and how they say so."""
    # A stage fails because one of its modules did, which says more.
    modules = [each for each in first_boot.failed if "/" in each.module] or list(first_boot.failed)
    told = "; ".join(f"{module_name(each.module)}: {quoted(each.message, 120)}" for each in modules[:_SHOWN])
    more = f" and {len(modules) - _SHOWN} more" if len(modules) > _SHOWN else ""
    return f"cloud-init failed in {told}{more}"


def module_name(name: str) -> str:
    """`scripts_user` of `modules-final/config-scripts_user`; a stage is called `stage modules-final`."""
    stage, slash, module = name.partition("/")
    return f"{module.removeprefix('config-')} ({stage})" if slash else f"stage {stage}"


def never_phoned_home(timeout: int, seen: Sequence[Sighting], first_boot: FirstBoot) -> Outcome:
    """How the action ends whose system did not phone home in its time; `seen` is the machine's timeline since it went away."""
    return Outcome(
        state=State.FAILED,
        reason=Reason.NEVER_PHONED_HOME,
        message=f"the installed system did not phone home within {counted(timeout, 'second')}: {_evidence(seen, first_boot)}",
    )


def came_back(first_boot: FirstBoot) -> Outcome:
    """The same of a machine that booted the OSIE once more, where its disk was to boot."""
    told = f" {what_failed(first_boot)}." if first_boot.failed else ""
    return Outcome(
        state=State.FAILED,
        reason=Reason.NEVER_PHONED_HOME,
        message=f"the machine booted the OSIE again, and not the installed system.{told}".removesuffix("."),
    )


def _evidence(seen: Sequence[Sighting], first_boot: FirstBoot) -> str:
    """How far it came, and where to look."""
    newest = {each.stage: each for each in seen}
    failed = f"; {what_failed(first_boot)}" if first_boot.failed else ""
    if told := newest.get(Stage.CLOUD_INIT):
        return f"the last that its cloud-init reported was {quoted(told.detail, 120)} at {_time(told)}{failed}. Look at /var/log/cloud-init.log there"
    if asked := newest.get(Stage.METADATA):
        return (
            f"it asked for {quoted(asked.detail)} at {_time(asked)}, and reported nothing since. Its user-data may have a phone_home "
            f"of its own, or cloud-init stopped: look at the machine's console and at /var/log/cloud-init.log{failed}"
        )
    if booted := newest.get(Stage.DISK_BOOTED):
        return (
            f"its disk's system asked for an address at {_time(booted)}, and never for its metadata. Does the image have cloud-init, "
            "and does it find the seed? Look at the machine's console"
        )
    if sent := newest.get(Stage.LOCAL_DISK):
        return f"it was told to boot its disk at {_time(sent)}, and nothing was heard of the system there. Look at the machine's console"
    return "it was not seen booting since it went away. Look at its console and power, and at the boot order of its firmware"


def _time(sighting: Sighting) -> str:
    return f"{sighting.at:%H:%M:%S} UTC"
