"""The doctor's rules about container engines that do not answer: of machines whose actions run, and of hosts of services."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from tinkbox.engine.doctor.case import ON_APPLIANCE, AwaitedService, Case, Finding, moment
from tinkbox.engine.doctor.rules.silence import WORKING, lasted, silent_since
from tinkbox.model.command_lines import not_ours, service_key
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.engine_trouble import EngineFault, EngineTrouble
from tinkbox.model.reasons import Giver, Reason, hint, in_a_sentence, known
from tinkbox.model.services import Phase
from tinkbox.model.text import one_line, quoted, shortened
from tinkbox.model.workflow import FINAL, State

# An engine that restarts is back by then.
_RESTARTS_WITHIN: Final = timedelta(seconds=5)
_LONGEST: Final = 300
_SURELY_DOWN: Final = frozenset({Phase.FAILED})


def machine_engine_away(case: Case) -> Iterator[Finding]:
    """A machine's engine that does not answer while its action runs; of a worker that is silent itself nothing newer is known."""
    work = case.work
    if work is None or work.engine_away is None or work.action_state not in WORKING:
        return
    away = case.now - work.engine_away
    if away < _RESTARTS_WITHIN or silent_since(work, case.since, case.now) is not None:
        return
    key = work.id[:8]
    ends = "The action ends when its time is over, or after half a minute where it has not begun"
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"The Docker engine on the machine does not answer for {lasted(away)}, and {work.action} needs it.",
        evidence=(
            f"{moment(work.engine_away)} the engine did not answer its worker, and does not since",
            *([f"{moment(work.contact)} the worker was heard of last, and said so"] if work.contact else []),
            *(
                [f"{moment(work.since)} the action began; it has {work.timeout.total_seconds():.0f} s"]
                if work.since and work.timeout and work.action_state is State.RUNNING
                else []
            ),
        ),
        remedy="Start the engine on the machine: `systemctl restart docker` there; the worker goes on by itself when it answers, and an action whose container ended "
        "with the engine fails as EngineRestarted. "
        f"In the OSIE look at the machine's console for why it ended, mostly memory. {ends}; to end it now: `tinkbox workflow "
        f"cancel {key}`, boot the machine again, then `tinkbox workflow retry {key}`, if that is safe.",
    )


def service_gone(case: Case) -> Iterator[Finding]:
    """A service that was ready, and is not there any more, while its workflow is not over."""
    work = case.work
    if work is None or work.state in FINAL:
        return
    for each in work.gone:
        away = each.reason == Reason.ENGINE_GONE
        is_there = each.phase is Phase.READY and not away
        why = "the container engine of its host does not answer" if away else f"it is {each.phase} now"
        if each.reason and not away:
            why += f" ({in_a_sentence(each.reason)})"
        told = (
            f"is ready, and its host tells of trouble: {in_a_sentence(each.reason)}"
            if is_there
            else f"was ready and is not there any more: {why}"
        )
        yield Finding(
            gravity=Gravity.FAULT if away or each.phase in _SURELY_DOWN else Gravity.SUSPECT,
            cause=f"Service {each.name} of workflow {quoted(work.name)}, on {each.host}, {told}.",
            evidence=(
                f"{moment(case.now)} it is {each.phase}" + (f", {in_a_sentence(each.reason)}" if each.reason else ""),
                *([f"its host says: {quoted(_short(each.message))}"] if each.message else []),
                *(f"it printed: {not_ours(one_line(line, _LONGEST))}" for line in each.tail),
            ),
            remedy=remedy_of(work.id, each),
            subject=each.name,
        )


def remedy_of(workflow: str, service: AwaitedService) -> str:
    """What to do about a service that is not ready or not there any more, on the host where it runs."""
    if service.reason == Reason.ENGINE_GONE:
        return engine_remedy(service.host)
    # The logs are named below, by the name of the service.
    ours = known(service.reason)
    advice = hint(service.reason) if ours is not None and Giver.HOST in ours.givers else ""  # a host may use any word
    way_out = "" if "service logs" in advice else advice
    told = f"{way_out[:1].upper()}{way_out[1:]}" if not way_out.startswith("`") else way_out
    return f"Read what it printed: `tinkbox service logs {service_key(workflow[:8], service.name)}`." + (
        f" {told.removesuffix('.')}." if told else ""
    )


def engine_remedy(host: str) -> str:
    """What to do about the engine of a host of services, by what people call that."""
    goes_on = "The service goes on by itself when it answers."
    if host == ON_APPLIANCE:
        return f"`tinkbox doctor` says what is wrong with the appliance's container engine, and what to do. {goes_on}"
    return (
        f"On {host}: `systemctl status docker` shows why its container engine does not answer, `systemctl restart docker` starts it. "
        f"{goes_on}"
    )


def what_is_wrong(trouble: EngineTrouble) -> str:
    """What keeps the appliance from its own engine, as the beginning of a sentence."""
    match trouble.fault:
        case EngineFault.NO_SOCKET:
            return f"The setting `docker` names {trouble.url}, and there is no such socket on this host"
        case EngineFault.NOT_A_SOCKET:
            return f"The setting `docker` names {trouble.url}, which is no socket"
        case EngineFault.NO_RIGHT:
            return f"tinkbox has no right to use the container engine at {trouble.url}"
        case EngineFault.REFUSED:
            return f"No container engine listens at {trouble.url}"
        case EngineFault.SILENT:
            return "This host's container engine does not answer"


def own_engine_remedy(trouble: EngineTrouble) -> str:
    """What to do about it."""
    starts = "`systemctl status docker` shows why, `systemctl restart docker` starts it"
    goes_on = "tinkbox goes on by itself when it answers"
    match trouble.fault:
        case EngineFault.NO_SOCKET | EngineFault.NOT_A_SOCKET if trouble.others:
            return (
                f"An engine's socket is {trouble.others[0]}: write `docker: {trouble.others[0]}` into tinkbox.yaml, then "
                "`systemctl restart tinkbox`."
            )
        case EngineFault.NO_SOCKET | EngineFault.NOT_A_SOCKET:
            return (
                f"`systemctl status docker` shows whether an engine is installed and runs: start or install it; {goes_on}. If its socket is "
                "elsewhere, write that into tinkbox.yaml, such as `docker: unix:///var/run/docker.sock`, then `systemctl restart tinkbox`."
            )
        case EngineFault.NO_RIGHT:
            return (
                "Let tinkbox's user use it. In the folder of the release: `install -D -m 644 systemd/services.conf "
                "/etc/systemd/system/tinkbox.service.d/services.conf`, `systemctl daemon-reload` and `systemctl restart tinkbox`. Who may use "
                "an engine is as good as root on its host (docs/security.md)."
            )
        case EngineFault.REFUSED if not trouble.url.startswith("unix://"):
            return (
                f"Start the engine there; {goes_on}. If the address is wrong, correct `docker:` in tinkbox.yaml, then `systemctl "
                "restart tinkbox`."
            )
        case EngineFault.REFUSED | EngineFault.SILENT:
            return f"{starts}; {goes_on}."


def _short(text: str) -> str:
    return shortened(one_line(text, 2 * _LONGEST), _LONGEST)
