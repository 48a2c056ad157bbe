"""Every reason that tinkbox itself gives for a failure: what it means, and what a person can do about it.

An action's own reasons are its own words; about those nothing is known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """`means` explains the word, `hint` is the next thing to do; both for people."""

    means: str
    hint: str


REASONS: Mapping[str, Reason] = {
    "NonZeroExit": Reason(
        means="it ended with another status than 0",
        hint="read what it printed: tinkbox workflow logs",
    ),
    "Signal": Reason(
        means="a signal ended it; `signal` has its name",
        hint="find out what sent the signal: a crash of the program shows in its output, a kill from outside does not",
    ),
    "OutOfMemory": Reason(
        means="the kernel killed it because memory ran out",
        hint="give the machine more memory, or let the action write to a disk: everything else lives in memory",
    ),
    "Timeout": Reason(
        means="the action took longer than its `timeout`, or the workflow than its `global_timeout`; the message says "
        "what was waited for when it was not the action itself",
        hint="look at the end of its output for what it was doing; raise the timeout if it only needs longer",
    ),
    "Canceled": Reason(
        means="a person canceled the workflow",
        hint="tinkbox workflow retry takes it up again",
    ),
    "WorkerLost": Reason(
        means="the machine booted again while it ran; nobody knows how far it came, so only `retries` repeat it",
        hint="look at the machine's console and power; tinkbox workflow retry repeats the action when that is safe",
    ),
    "NeverReturned": Reason(
        means="the machine went away by intention (`reboot: true`) and was not seen again within the action's `timeout`",
        hint="look at the machine's console; when it is only slow to boot, raise the action's timeout",
    ),
    "FailedAtBreakpoint": Reason(
        means="a person let it fail at a breakpoint, though nothing of it had failed",
        hint="the message says who decided and why; tinkbox workflow events has the whole story",
    ),
    "BreakpointExpired": Reason(
        means="it was held at a breakpoint, and nobody decided before the deadline",
        hint="decide sooner, extend the hold (tinkbox breakpoint extend), or give breakpoints a longer timeout",
    ),
    "BreakpointLost": Reason(
        means="it was held at a breakpoint, and what was held is gone: the machine booted again, or its worker did not "
        "carry out the verdict",
        hint="look at the machine's console and power; tinkbox workflow retry repeats the action when that is safe",
    ),
    "ImageNotFound": Reason(
        means="the image is not in the registry",
        hint="push it, or load it with tinkbox image load; tinkbox image list shows what is there",
    ),
    "ImageNotAllowed": Reason(
        means="the registry does not let the worker have the image",
        hint="load the image into the appliance's own registry, or make it public there",
    ),
    "ImageCorrupt": Reason(
        means="the image arrived damaged",
        hint="push the image again; when that does not help, look at the disk of the registry",
    ),
    "WrongPlatform": Reason(
        means="the registry has the image, but not for this machine's processor",
        hint="build or push the image for the machine's architecture as well",
    ),
    "ImagePullFailed": Reason(
        means="the engine could not fetch the image, for the reason that the message gives",
        hint="try docker pull of the same name on another machine",
    ),
    "RegistryUnreachable": Reason(
        means="the registry that the image name carries does not answer; the appliance's own is waited for until the "
        "action's time is up",
        hint="check the name and the machine's way to that registry, or load the image into the appliance's own",
    ),
    "CreateFailed": Reason(
        means="the engine could not make the container",
        hint="the message is the engine's: compare the action's image, volumes and pid with it",
    ),
    "StartFailed": Reason(
        means="the engine could not start the container",
        hint="the message is the engine's: compare the action's command and volumes with it",
    ),
    "BadCommand": Reason(
        means="the command is empty, is not in the image, or cannot be executed",
        hint="check the spelling of the first word of command, and that the image is for the machine's architecture",
    ),
    "MountFailed": Reason(
        means="a volume could not be mounted, or takes the place of one of tinkbox's own",
        hint="check the action's volumes: the path on the machine must be there, and the place in the image usable",
    ),
    "NoSpace": Reason(
        means="the OSIE lives in memory, and it is full",
        hint="use a smaller image or give the machine more memory; write large files to a disk",
    ),
    "ContainerLost": Reason(
        means="the container was removed while it ran",
        hint="find out who removes containers on that machine: another action with the engine's socket can",
    ),
    "EngineGone": Reason(
        means="the Docker engine on the machine did not come back before the action's time was over",
        hint="look at the machine's console for what happened to the engine; booting the machine again starts a new one",
    ),
    "EngineRestarted": Reason(
        means="the Docker engine ended, and the action with it",
        hint="look at the machine's console for what happened to the engine; often its memory ran out",
    ),
    "EngineFailed": Reason(
        means="the Docker engine refused what was asked",
        hint="the message is the engine's; the machine's console says more",
    ),
    "ExecFailed": Reason(
        means="the engine could not start a shell or a command in the held container",
        hint="the message is the engine's: compare the shell's command, user and folder with what the image has",
    ),
    "ShellLost": Reason(
        means="the worker or the engine on the machine was restarted or failed, and a shell in the held container with "
        "it; the action is held as before",
        hint="open another shell",
    ),
    "CommitFailed": Reason(
        means="the engine could not make an image of the ended container, which is how one with `helper: false` is held",
        hint="the message is the engine's; the machine's console says more",
    ),
    "TooLargeToHold": Reason(
        means="the action has `helper: false`, and wrote so many files into its container that a copy of them, which "
        "holding it takes, would endanger the machine's memory",
        hint="let the action write to a volume, or take `helper: false` off it: then nothing is copied",
    ),
    "DataTooLarge": Reason(
        means="`/workflow` holds more than 10 MiB; the message names the largest files",
        hint="keep large files elsewhere, such as on the disk; the former version of the data is still there",
    ),
    "DataInvalid": Reason(
        means="the workflow's data could not be packed or unpacked",
        hint="keep only files, folders and links in /workflow",
    ),
    "ServiceNotReady": Reason(
        means="a service of the workflow was not ready within its `timeout`; the message has its last lines",
        hint="read what it printed: tinkbox service logs; raise its timeout if it only needs longer",
    ),
    "ServiceFailed": Reason(
        means="a service of the workflow ended with an error, as often as its `restart` allows",
        hint="read what it printed: tinkbox service logs",
    ),
    "ServiceEnded": Reason(
        means="a service that has a health check ended without an error before it was healthy, so it never served",
        hint="let its command stay in the foreground, or switch its health check off if it only prepares something",
    ),
    "NoPort": Reason(
        means="routes lead to a service, and neither its `ports`, its labels nor its image say which port it listens on",
        hint="name the port in the service's ports, or in its label traefik.http.services.NAME.loadbalancer.server.port",
    ),
    "PathNotOpened": Reason(
        means="a volume of a service leads, perhaps through a link, out of what the operator opened on the appliance",
        hint="put what it mounts below the folder that services.paths in tinkbox.yaml names",
    ),
    "NetworkFailed": Reason(
        means="the appliance could not make a network for the workflow's services: its subnets are used up, or in use",
        hint="give services.subnets in tinkbox.yaml a larger or another range, or wait until other workflows are over",
    ),
    "DiskNotEmpty": Reason(
        means="the action wipes a disk (`wipes`) on which something is that no workflow put there; the message says what. "
        "Nothing was written",
        hint="look at the disk; if what is on it can go: tinkbox workflow retry --confirm-wipe",
    ),
    "NoSuchDisk": Reason(
        means="the action wipes a disk that this machine does not have; the message says which it has",
        hint="correct the template's `wipes`; a disk that is missing may be unplugged, or its driver not in the OSIE",
    ),
    "DiskUnreadable": Reason(
        means="the action wipes a disk that cannot be read, so that nobody knows what is on it",
        hint="look at the kernel's messages on the machine's console: the disk or its cable may be faulty",
    ),
    "InvalidReason": Reason(
        means="what is in `/dev/reason` is not one CamelCase word",
        hint="write one word of letters and digits to /dev/reason, and the sentence to /dev/message",
    ),
}


def hint(reason: str) -> str:
    """What to do about one of our own reasons; nothing for an action's own words."""
    known = REASONS.get(reason)
    return known.hint if known else ""


def markdown() -> str:
    """The table for the documentation."""
    rows = [f"| `{name}` | {reason.means} | {reason.hint} |" for name, reason in REASONS.items()]
    return "\n".join(["| reason | means | what to do |", "|---|---|---|", *rows])
