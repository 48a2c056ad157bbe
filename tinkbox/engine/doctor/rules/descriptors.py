"""The doctor's rule about the file descriptors of the appliance's process."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from tinkbox.engine.doctor.case import Case, Finding, moment
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.duration import show_duration
from tinkbox.model.vitals import Descriptors

# As limits that held somebody back are told.
_TOLD_FOR: Final = timedelta(minutes=10)
_MANY: Final = 0.9
# What systemd gives a service as its hard limit.
_ENOUGH: Final = 524_288


def descriptors_low(case: Case) -> Iterator[Finding]:
    """Hardly a file descriptor left, or none: each connection and each open file takes one."""
    found = case.vitals.descriptors if case.vitals else None
    if found is None:
        return
    refused = found.refused_at
    lately = refused is not None and case.now - refused < _TOLD_FOR
    many = found.opened > found.most * _MANY
    if not (found.used_up or lately or many):
        return
    kept = ", and the others are kept for what people ask" if found.used_up and found.opened < found.most else ""
    counted = (
        f"{moment(case.now)} {found.opened} of {found.most} are open (`ls /proc/{found.process}/fd | wc -l`){kept}"
    )
    no_more = "EMFILE" if not found.of_host else "ENFILE"
    yield Finding(
        gravity=Gravity.FAULT if found.used_up else Gravity.SUSPECT,
        cause=_cause(found, lately=lately),
        evidence=(
            *([f"{moment(refused)} the kernel refused one for the last time ({no_more})"] if refused else []),
            counted,
        ),
        remedy=_remedy(found, lately=lately),
    )


def _cause(found: Descriptors, *, lately: bool) -> str:
    whose = "This host has" if found.of_host else "tinkbox's process has"
    if found.used_up:
        return f"{whose} no file descriptor left: machines are turned away, and files cannot be opened."
    if lately:
        return f"{whose} file descriptors again, after it had none left."
    return f"tinkbox's process has {found.opened} of {found.most} file descriptors open: without one no machine is answered."


def _remedy(found: Descriptors, *, lately: bool) -> str:
    over = f" This is told for {show_duration(_TOLD_FOR.total_seconds())}." if lately and not found.used_up else ""
    if found.of_host and (found.used_up or lately):
        return (
            "`cat /proc/sys/fs/file-nr` shows how many files this host has open, and how many it may. `lsof | awk '{print $1, $2}' | uniq -c | "
            f"sort -n | tail` shows who has them: end that, or raise `sysctl -w fs.file-max`.{over}"
        )
    return (
        f"At once: `prlimit --pid {found.process} --nofile={_ENOUGH}:{_ENOUGH}`; in a container no more than the HARD limit that "
        f"`prlimit --pid {found.process} --nofile` shows. For good: `systemctl edit tinkbox`, write "
        f"`[Service]` and `LimitNOFILE={_ENOUGH}` there, then `systemctl restart tinkbox`. `ls -l /proc/{found.process}/fd` shows what is open: "
        f"if it is one thing many times, that is a defect of tinkbox.{over}"
    )
