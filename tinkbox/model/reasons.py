"""Every reason that tinkbox itself gives for a failure: what it means, what a person can do about it, and who gives it.

A new reason is one member here and the place that raises it: the table in docs/actions.md is printed from here
(`tests/test_house_rules.py` says how), and the metrics may name each of them.

Rule 1: whoever gives a reason of tinkbox's own names a member; mypy refuses any other text (`AnyReason`).
Rule 2: an action's own reason, and what comes by wire or from the store, is text and stays the text that it is: a
worker may be older or newer than its appliance.  `known` tells whether it is one of these.
"""

import re
from enum import Flag, StrEnum, auto
from typing import TYPE_CHECKING, Final, NewType, Self, TypeAlias

from tinkbox.model.command_lines import PROGRAM, typable
from tinkbox.model.text import quoted

MAX_REASON: Final = 128  # characters of an action's own
# Behind a hint by which a person changes the template.
NEW_TEXT: Final = "; a retry keeps the old text: after a change of the template make a new workflow (`tinkbox workflow create -t TEMPLATE MACHINE`)"
MAX_ADVICE: Final = 300  # of its advice, in a line


class Giver(Flag):
    """Who gives a reason; several may."""

    WORKER = auto()  # of an action or a shell, on the machine
    HOST = auto()  # of a service, wherever it runs
    APPLIANCE = auto()  # of what only it can know


class Reason(StrEnum):
    """One word for a failure: its value is what travels and is stored.

    `means` explains the word, `hint` is the next thing to do; both are for people, and neither ends in a full stop.
    """

    givers: Giver
    means: str
    hint: str

    def __new__(cls, word: str, givers: Giver, means: str, hint: str) -> Self:
        member = str.__new__(cls, word)
        member._value_ = word
        member.givers, member.means, member.hint = givers, means, hint
        return member

    NON_ZERO_EXIT = (
        "NonZeroExit",
        Giver.WORKER,
        "it ended with another status than 0",
        "read what it printed: `tinkbox workflow logs WORKFLOW`",
    )
    SIGNAL = (
        "Signal",
        Giver.WORKER,
        "a signal ended it; `signal` has its name",
        "find out what sent the signal: a crash of the program shows in its output, a kill from outside does not",
    )
    OUT_OF_MEMORY = (
        "OutOfMemory",
        Giver.WORKER | Giver.HOST,
        "the kernel killed it because memory ran out",
        "give the machine more memory, or let the action write to a disk: everything else lives in memory",
    )
    TIMEOUT = (
        "Timeout",
        Giver.WORKER | Giver.APPLIANCE,
        (
            "the action took longer than its `timeout`, or the workflow than its `global_timeout`; the message says "
            "what was waited for when it was not the action itself"
        ),
        f"look at the end of its output for what it was doing; raise the timeout if it only needs longer{NEW_TEXT}",
    )
    CANCELED = (
        "Canceled",
        Giver.WORKER | Giver.APPLIANCE,
        "a person canceled the workflow",
        "`tinkbox workflow retry WORKFLOW` takes it up again",
    )
    WORKER_LOST = (
        "WorkerLost",
        Giver.APPLIANCE,
        (
            "while it ran the machine booted again, or another worker took the machine over; how far it came is not known, so "
            "only `retries` repeat it"
        ),
        (
            "after a boot look at the machine's console and power; after another worker took over, let only one worker "
            "run for this machine; `tinkbox workflow retry WORKFLOW` repeats the action when that is safe"
        ),
    )
    WORKER_SILENT = (
        "WorkerSilent",
        Giver.APPLIANCE,
        (
            "the action's time is over, and its worker had fallen silent before: the machine was off, hung, or could not reach "
            "the appliance, or its credential was voided. The message says since when. The state is TIMEOUT; the action's `timeout` is not to blame"
        ),
        (
            "look at the machine's power, cable and console; `tinkbox doctor MACHINE` says what is seen of it now; "
            "`tinkbox workflow retry WORKFLOW` repeats the action when that is safe"
        ),
    )
    WORKER_OUTDATED = (
        "WorkerOutdated",
        Giver.APPLIANCE,
        "the machine's worker is of an earlier release, and does not know what the action asks for; nothing was begun",
        "build the OSIE of this version (`tinkbox osie build`), boot the machine again, and `tinkbox workflow retry WORKFLOW`",
    )
    SECRET_MISSING = (
        "SecretMissing",
        Giver.APPLIANCE,
        "a secret that it asks for was deleted since its workflow was made; nothing was begun",
        "`tinkbox secret set NAME` with the name in the message, then `tinkbox workflow retry WORKFLOW`",
    )
    SECRET_UNREADABLE = (
        "SecretUnreadable",
        Giver.WORKER | Giver.HOST | Giver.APPLIANCE,
        "the key of the appliance's secrets is missing, or is not the one by which they were kept; nothing was begun",
        "put the key back that the message names, then `tinkbox workflow retry WORKFLOW`",
    )
    OWN_FILES_FAILED = (
        "OwnFilesFailed",
        Giver.WORKER | Giver.HOST,
        "files that the container has from tinkbox, such as its secrets, could not be made",
        "mend what the message names, such as the rights of a folder or of /dev/shm, then `tinkbox workflow retry WORKFLOW`",
    )
    NOT_ENCRYPTED = (
        "NotEncrypted",
        Giver.APPLIANCE,
        "it asks for secrets, and the machine's worker asks in plain HTTP, which everybody on the wire can read; nothing was handed out",
        (
            "let `node.https_port` be no 0, build the OSIE of this version (`tinkbox osie build`), boot the machine again, and "
            "`tinkbox workflow retry WORKFLOW`. A worker that you start by hand needs a new credential (`tinkbox hardware credential MAC`)"
        ),
    )
    HISTORY_LOST = (
        "HistoryLost",
        Giver.APPLIANCE,
        (
            "the appliance's store was put back to an earlier day, and lacks what the machine did since; nothing is begun "
            "and nothing is stopped until a person decides. While it waits, `tinkbox workflow state WORKFLOW` names the commands"
        ),
        "what the machine did was discarded: `tinkbox workflow retry WORKFLOW` runs the failed action again",
    )
    NEVER_RETURNED = (
        "NeverReturned",
        Giver.APPLIANCE,
        "the machine went away by intention (`reboot: true`) and was not seen again within the action's `timeout`",
        f"look at the machine's console; when it is only slow to boot, raise the action's timeout{NEW_TEXT}",
    )
    NEVER_PHONED_HOME = (
        "NeverPhonedHome",
        Giver.APPLIANCE,
        (
            "the machine went away to boot the installed system (`until: phone-home`), and that did not tell within the action's "
            "`timeout` that it is up; the message says how far it came"
        ),
        (
            "look at the machine's console and at its timeline (`tinkbox hardware watch MACHINE`); once the system has phoned home all the "
            "same, `tinkbox workflow retry WORKFLOW` succeeds at once; to install anew, `tinkbox workflow retry WORKFLOW --from ACTION`, "
            f"the action that writes the image, and reset the machine; when it is only slow, raise the action's timeout{NEW_TEXT}"
        ),
    )
    CLOUD_INIT_FAILED = (
        "CloudInitFailed",
        Giver.APPLIANCE,
        "the installed system is up, and modules of its cloud-init failed; the message names them",
        (
            "log in and read /var/log/cloud-init.log and /var/log/cloud-init-output.log; when it is your user-data that "
            "failed, correct it and install again, by `tinkbox install IMAGE MACHINE` or `tinkbox workflow create -t TEMPLATE MACHINE`, for a retry has the old one; otherwise "
            "`tinkbox workflow retry WORKFLOW --from ACTION`, the action that writes the image, and reset the machine; to keep the system as it is, "
            "do nothing: its machine boots its disk"
        ),
    )
    FAILED_AT_BREAKPOINT = (
        "FailedAtBreakpoint",
        Giver.WORKER | Giver.APPLIANCE,
        "a person let it fail at a breakpoint, though nothing of it had failed",
        "the message says who decided and why; `tinkbox workflow events WORKFLOW` has the whole story",
    )
    BREAKPOINT_EXPIRED = (
        "BreakpointExpired",
        Giver.WORKER | Giver.APPLIANCE,
        "it was held at a breakpoint, and nobody decided before the deadline",
        "decide sooner, extend the hold (`tinkbox breakpoint extend WORKFLOW`), or give breakpoints a longer timeout",
    )
    BREAKPOINT_LOST = (
        "BreakpointLost",
        Giver.APPLIANCE,
        (
            "it was held at a breakpoint, and what was held is gone: the machine booted again, or its worker did not "
            "carry out the verdict"
        ),
        "look at the machine's console and power; `tinkbox workflow retry WORKFLOW` repeats the action when that is safe",
    )
    IMAGE_NOT_FOUND = (
        "ImageNotFound",
        Giver.WORKER | Giver.HOST,
        "the image is not in the registry",
        "push it, or load it with `tinkbox image load FILE`; `tinkbox image list` shows what is there",
    )
    IMAGE_NOT_ALLOWED = (
        "ImageNotAllowed",
        Giver.WORKER | Giver.HOST,
        "the registry does not let the worker have the image",
        "load the image into the appliance's own registry, or make it public there",
    )
    IMAGE_CORRUPT = (
        "ImageCorrupt",
        Giver.WORKER | Giver.HOST,
        "the image arrived damaged",
        "push the image again; when that does not help, look at the disk of the registry",
    )
    WRONG_PLATFORM = (
        "WrongPlatform",
        Giver.WORKER | Giver.HOST,
        "the image is not for this machine's processor; where only one is there, the message names both processors",
        "build or push the image for the machine's architecture as well",
    )
    IMAGE_PULL_FAILED = (
        "ImagePullFailed",
        Giver.WORKER | Giver.HOST,
        "the engine could not fetch the image, for the reason that the message gives",
        "try `docker pull` of the same name on another machine",
    )
    REGISTRY_UNREACHABLE = (
        "RegistryUnreachable",
        Giver.WORKER | Giver.HOST,
        (
            "the registry that the image name carries does not answer; the appliance's own is waited for until the "
            "action's time is up"
        ),
        (
            "check the name and the machine's way to that registry, or load the image into the appliance under that name: "
            "it is asked first"
        ),
    )
    CREATE_FAILED = (
        "CreateFailed",
        Giver.WORKER | Giver.HOST,
        "the engine could not make the container",
        f"the message is the engine's: compare its image, volumes and pid with it{NEW_TEXT}",
    )
    START_FAILED = (
        "StartFailed",
        Giver.WORKER | Giver.HOST,
        "the engine could not start the container",
        f"the message is the engine's: compare its command and volumes with it{NEW_TEXT}",
    )
    NOT_PRIVILEGED = (
        "NotPrivileged",
        Giver.WORKER | Giver.HOST,
        "this host's engine cannot give the container all privileges",
        "start the worker with --no-privileged",
    )
    BAD_COMMAND = (
        "BadCommand",
        Giver.WORKER | Giver.HOST,
        "the command is empty, is not in the image, or cannot be executed",
        f"check the spelling of the first word of command, and that the image is for the machine's architecture{NEW_TEXT}",
    )
    MOUNT_FAILED = (
        "MountFailed",
        Giver.WORKER | Giver.HOST,
        "a volume could not be mounted, or takes the place of one of tinkbox's own",
        (
            "check its volumes: a path of its host that is not there is made, as an empty folder, so the message is about one "
            f"that cannot be made or mounted; the place in the image must be usable{NEW_TEXT}"
        ),
    )
    NO_SPACE = (
        "NoSpace",
        Giver.WORKER | Giver.HOST,
        "the OSIE lives in memory, and it is full; or the disk of another engine is",
        (
            "use a smaller image or give the machine more memory; write large files to a disk. For a worker outside the OSIE, free room on "
            "its engine's disk: `docker system df` shows what takes it"
        ),
    )
    CONTAINER_LOST = (
        "ContainerLost",
        Giver.WORKER,
        "its container was removed while it ran, such as by `docker rm -f`",
        "find out who removes containers on that machine: another action with the engine's socket can",
    )
    ENGINE_GONE = (
        "EngineGone",
        Giver.WORKER | Giver.HOST,
        (
            "the Docker engine on the machine does not answer: an action that was not begun waits 30 seconds for it, one that "
            "runs until its time is over"
        ),
        (
            "of a machine look at its console for what happened to the engine: booting it again starts a new one; of the appliance "
            "ask `systemctl status docker`"
        ),
    )
    ENGINE_RESTARTED = (
        "EngineRestarted",
        Giver.WORKER,
        "the Docker engine ended or was restarted, and the action with it; how far it came is not known",
        (
            "look at the machine's console for what happened to the engine: mostly memory that ran out, or a person or an upgrade that "
            "restarted it; `tinkbox workflow retry WORKFLOW` repeats the action when that is safe"
        ),
    )
    ENGINE_FAILED = (
        "EngineFailed",
        Giver.WORKER | Giver.HOST,
        "the Docker engine refused what was asked",
        "the message is the engine's; the machine's console says more",
    )
    EXEC_FAILED = (
        "ExecFailed",
        Giver.WORKER,
        "the engine could not start a shell or a command in the held container",
        "the message is the engine's: compare the shell's command, user and folder with what the image has",
    )
    SHELL_LOST = (
        "ShellLost",
        Giver.WORKER,
        (
            "the worker or the engine on the machine was restarted or failed, and a shell in the held container with "
            "it; the action is held as before"
        ),
        "open another shell",
    )
    COMMIT_FAILED = (
        "CommitFailed",
        Giver.WORKER,
        "the engine could not make an image of the ended container, which is how one with `helper: false` is held",
        "the message is the engine's; the machine's console says more",
    )
    TOO_LARGE_TO_HOLD = (
        "TooLargeToHold",
        Giver.WORKER,
        (
            "the action has `helper: false`, and wrote so many files into its container that a copy of them, which "
            "holding it takes, would endanger the machine's memory"
        ),
        f"let the action write to a volume, or take `helper: false` off it: then nothing is copied{NEW_TEXT}",
    )
    DATA_TOO_LARGE = (
        "DataTooLarge",
        Giver.WORKER | Giver.HOST,
        "`/workflow` holds more than 10 MiB; the message names the largest files",
        "keep large files elsewhere, such as on the disk; the former version of the data is still there",
    )
    DATA_INVALID = (
        "DataInvalid",
        Giver.WORKER | Giver.HOST,
        "the workflow's data could not be packed or unpacked",
        "keep only files, folders and links in /workflow",
    )
    SERVICE_NOT_READY = (
        "ServiceNotReady",
        Giver.APPLIANCE,
        "a service of the workflow was not ready within its `timeout`; the message has its last lines",
        (
            "where the message names the container engine, start that on the host of the service: `systemctl status docker`; else "
            f"read what it printed: `tinkbox service logs WORKFLOW/SERVICE`; raise its timeout if it only needs longer{NEW_TEXT}"
        ),
    )
    SERVICE_FAILED = (
        "ServiceFailed",
        Giver.HOST | Giver.APPLIANCE,
        "a service of the workflow ended with an error, as often as its `restart` allows",
        "read what it printed: `tinkbox service logs WORKFLOW/SERVICE`",
    )
    SERVICE_ENDED = (
        "ServiceEnded",
        Giver.HOST,
        "a service that has a health check ended without an error before it was healthy, so it never served",
        f"let its command stay in the foreground, or switch its health check off if it only prepares something{NEW_TEXT}",
    )
    NO_PORT = (
        "NoPort",
        Giver.HOST,
        "routes lead to a service, and neither its `ports`, its labels nor its image say which port it listens on",
        f"name the port in the service's ports, or in its label traefik.http.services.NAME.loadbalancer.server.port{NEW_TEXT}",
    )
    UNKNOWN_VOLUME = (
        "UnknownVolume",
        Giver.HOST,
        "a service on the appliance mounts a volume that its configuration does not name, or no longer names",
        f"name the folder under services.volumes in tinkbox.yaml, and write that name in the template{NEW_TEXT}",
    )
    HOST_FULL = (
        "HostFull",
        Giver.HOST,
        "the appliance runs as many services as it may, of this workflow or in all: this one waits until another is gone",
        "end workflows that you need no more, or raise limits.services in tinkbox.yaml",
    )
    NETWORK_FAILED = (
        "NetworkFailed",
        Giver.HOST,
        "the appliance could not make a network for the workflow's services: its subnets are used up, or in use",
        "give services.subnets in tinkbox.yaml a larger or another range, or wait until other workflows are over",
    )
    DISK_NOT_EMPTY = (
        "DiskNotEmpty",
        Giver.APPLIANCE,
        (
            "the action wipes a disk (`wipes`) on which something is that no workflow put there; the message says "
            "what. Nothing was written"
        ),
        "look at the disk; if what is on it can go: `tinkbox workflow retry WORKFLOW --confirm-wipe`",
    )
    NO_SUCH_DISK = (
        "NoSuchDisk",
        Giver.WORKER,
        "the action's `disk` or `wipes` names a disk that this machine does not have; the message says which it has",
        f"correct the template's `disk` and `wipes`; a disk that is missing may be unplugged, or its driver not in the OSIE{NEW_TEXT}",
    )
    DISK_AMBIGUOUS = (
        "DiskAmbiguous",
        Giver.WORKER,
        "the action's `disk` or `wipes` means several disks of this machine, and must mean one; the message lists them",
        f"say which one is meant, such as by serial= and what the message shows: in the template, or cancel and type `tinkbox install IMAGE MACHINE` with --disk{NEW_TEXT}",
    )
    DISK_UNREADABLE = (
        "DiskUnreadable",
        Giver.WORKER,
        "the action wipes a disk that cannot be read, so that nobody knows what is on it",
        "look at the kernel's messages on the machine's console: the disk or its cable may be faulty",
    )
    INVALID_REASON = (
        "InvalidReason",
        Giver.WORKER,
        "what is in `/dev/reason` is not one CamelCase word; the message says what it was",
        f"write one word to /dev/reason, a letter and then letters and digits, {MAX_REASON} at most, and the sentence to /dev/message",
    )


# Marks, what stands for the argument of a command, and an option before that.
_OF_COMMANDS: Final = re.compile(r"[`,;]|\btinkbox\b|(?<!\S)-[a-z](?!\S)|\b[A-Z]{4,}(/[A-Z]+)?\b")
_CAMEL_CASE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def is_reason(text: str) -> bool:
    """Whether it is what an action may give as its reason: one CamelCase word, a letter and then letters and digits."""
    return len(text) <= MAX_REASON and _CAMEL_CASE.fullmatch(text) is not None


# A reason as text: an action's own word, or any that came by wire or from the store; empty where none was given.
ReasonText = NewType("ReasonText", str)
NO_REASON = ReasonText("")

if TYPE_CHECKING:
    AnyReason: TypeAlias = Reason | ReasonText
else:
    # Whatever reads annotations to decode a document gets text, which is all that a document can hold.
    AnyReason = ReasonText

_KNOWN = {reason.value: reason for reason in Reason}


def known(reason: str) -> Reason | None:
    """The reason of ours that is spelled so; None for an action's own word."""
    return _KNOWN.get(reason)


def in_a_sentence(reason: str) -> str:
    """A reason as it stands among our own words: what is none of ours is in quotes."""
    ours = known(reason)
    return ours.value if ours is not None else quoted(reason, MAX_REASON)


# Phrases of messages of ours that tell more than the reason, and what to do then.
WANTS_HTTPS: Final = "has to be in insecure-registries"
CRLF: Final = "a script with Windows' line ends (CRLF)"
NOT_EXECUTABLE: Final = "a file without the permission to execute it"
WEB_PAGE: Final = "a web page came in the place of the registry's answer"
NOT_ASKED: Final = "cannot be asked for"  # in what the appliance answers a pull that its mirror keeps from it
UNTRUSTED: Final = "does not trust the registry's certificate"
OF_THE_APPLIANCE: Final = "which is the appliance's own registry"
OUTDATED: Final = "takes the registry's certificate for expired, or for not valid yet"
OTHER_NAME: Final = "the registry's certificate is not for the name or address by which the image names it"
MAPS_USERS: Final = "the engine maps users"
TOLD_TO_KILL: Final = "somebody on the machine had its Docker engine do that"
GROUP_LIMIT: Final = "the limit of memory of the control group"
DOCKER_ENGINE: Final = "Docker engine"  # in whatever is said of one that does not answer, or may not be used
NO_ENGINE_AT: Final = f"no {DOCKER_ENGINE} answers at"
NO_PROGRAM_TO_CHECK: Final = "executable file not found"  # as runc says it of a health check
_BY_MESSAGE: Final = (
    (
        Reason.BAD_COMMAND,
        CRLF,
        "save the script with line ends of Unix (LF), or put the interpreter that its first line names into the image; then load the image again",
    ),
    (
        Reason.BAD_COMMAND,
        NOT_EXECUTABLE,
        (
            "give the file that permission (`chmod +x`) in the volume, or where the image is built, and load the image again; or name its interpreter "
            f"in the command, such as `sh /path/script`; of a folder name a file in it{NEW_TEXT}"
        ),
    ),
    (
        Reason.IMAGE_PULL_FAILED,
        WEB_PAGE,
        "take the registry's host out of what the machine's engine asks its proxy for (`no-proxy` in its /etc/docker/daemon.json), and start that engine again",
    ),
    *(
        (
            each,
            NOT_ASKED,
            (
                "`tinkbox doctor` says why the appliance does not reach the registry that the message names, and what to do about it; then "
                "`tinkbox workflow retry WORKFLOW`"
            ),
        )
        for each in (Reason.IMAGE_PULL_FAILED, Reason.REGISTRY_UNREACHABLE)
    ),
    (
        Reason.IMAGE_PULL_FAILED,
        OUTDATED,
        "compare `date` on the machine and on the host of the registry with the dates in the message; of the appliance's own registry `tinkbox doctor` says why its certificate was not renewed",
    ),
    (
        Reason.IMAGE_PULL_FAILED,
        OTHER_NAME,
        (
            "name the registry in the image as its certificate does, or have the certificate made anew for that name; of the appliance's own registry restart "
            f"tinkbox, which has the certificate made for each address that it has by then{NEW_TEXT}"
        ),
    ),
    # Before the next one, whose phrase its message has as well.
    (
        Reason.IMAGE_PULL_FAILED,
        OF_THE_APPLIANCE,
        (
            "in an OSIE boot the machine again: with its ramdisk it gets the appliance's authority; for an engine of your own put what `tinkbox authority` "
            "prints into /etc/docker/certs.d/REGISTRY/ca.crt, with the registry as the message names it; then `tinkbox workflow retry WORKFLOW`"
        ),
    ),
    (
        Reason.IMAGE_PULL_FAILED,
        UNTRUSTED,
        (
            "load the image into the appliance with `tinkbox image load FILE`, or have the appliance fetch it: name that registry in registry.mirrors, put its "
            "authority into the list of the appliance's host, and restart tinkbox. The engine of an OSIE trusts public authorities and the appliance alone; one "
            "that you set up also /etc/docker/certs.d/REGISTRY/ca.crt"
        ),
    ),
    *(
        (
            each,
            WANTS_HTTPS,
            (
                'write {"insecure-registries": ["ADDRESS"]}, with the address of that registry, into the /etc/docker/daemon.json of the machine, and '
                "start its engine again; then `tinkbox workflow retry WORKFLOW`"
            ),
        )
        for each in (Reason.IMAGE_PULL_FAILED, Reason.REGISTRY_UNREACHABLE)
    ),
    (
        Reason.NOT_PRIVILEGED,
        MAPS_USERS,
        (
            "take userns-remap out of the engine's /etc/docker/daemon.json, and start the engine again; where no action needs privileges, start the "
            "worker with --no-privileged instead"
        ),
    ),
    (
        Reason.ENGINE_GONE,
        NO_ENGINE_AT,
        (
            "in the OSIE look at the machine's console for what happened to the engine: booting it again starts a new one; on any other host "
            "`systemctl status docker` shows why it does not run; if its socket is elsewhere, start the worker with `--docker URL` of that"
        ),
    ),
    (
        Reason.SIGNAL,
        TOLD_TO_KILL,
        "look on the machine for what cleans up containers, such as cron and timers; `docker events` shows it when it does so again",
    ),
    (
        Reason.OUT_OF_MEMORY,
        GROUP_LIMIT,
        (
            "raise that limit on the machine: more memory does not help; of one that systemd sets, `systemctl show --property=MemoryMax UNIT` shows "
            "it, and `systemctl set-property UNIT MemoryMax=infinity` takes it away"
        ),
    ),
    (
        Reason.SERVICE_NOT_READY,
        NO_PROGRAM_TO_CHECK,
        (
            "the service may be well: its health check calls a program that its image has not; put that into the image, load it again and retry; for "
            "another check in the template create a new workflow, as this one keeps the template that it was made of"
        ),
    ),
)


def hint(reason: str, message: str = "") -> str:
    """What to do about a reason that tinkbox gave, and about this message of it; nothing for a word that is none of its own.

    An action may give a word that is spelled as one of ours, and means something else by it: its worker passes on what
    the action says can be done (`Outcome.hint`), which comes first.
    """
    ours = known(reason)
    if ours is None:
        return ""
    return next((advice for each, phrase, advice in _BY_MESSAGE if each is ours and phrase in message), ours.hint)


def _hints(reason: str) -> list[str]:
    """All that there are of a reason."""
    ours = known(reason)
    return [hint(reason), *(advice for each, _, advice in _BY_MESSAGE if each is ours)]


# What they stand for came before the action or the service itself ran.
_BEFORE_IT_RAN: Final = frozenset(
    {
        Reason.WORKER_OUTDATED,
        Reason.SECRET_MISSING,
        Reason.SECRET_UNREADABLE,
        Reason.OWN_FILES_FAILED,
        Reason.NOT_ENCRYPTED,
        Reason.IMAGE_NOT_FOUND,
        Reason.IMAGE_NOT_ALLOWED,
        Reason.IMAGE_CORRUPT,
        Reason.WRONG_PLATFORM,
        Reason.IMAGE_PULL_FAILED,
        Reason.REGISTRY_UNREACHABLE,
        Reason.CREATE_FAILED,
        Reason.NOT_PRIVILEGED,
        Reason.MOUNT_FAILED,
        Reason.SERVICE_NOT_READY,
        Reason.SERVICE_FAILED,
        Reason.SERVICE_ENDED,
        Reason.NO_PORT,
        Reason.UNKNOWN_VOLUME,
        Reason.HOST_FULL,
        Reason.NETWORK_FAILED,
        Reason.DISK_NOT_EMPTY,
        Reason.NO_SUCH_DISK,
        Reason.DISK_AMBIGUOUS,
        Reason.DISK_UNREADABLE,
    }
)


def never_ran(reason: str, advice: str, program: str = PROGRAM) -> bool:
    """Whether an action failed before it ran, so that it printed nothing: `advice` is its hint, as `typable` has it for this program.

    An action may spell a word of its own as a reason of ours: its hint is another one.
    """
    return known(reason) in _BEFORE_IT_RAN and bare_words(advice) in [
        bare_words(typable(each, program)) for each in _hints(reason)
    ]


def is_hint_of(reason: str, advice: str) -> bool:
    """Whether a hint is ours for this reason, also as an earlier release has it, which had fewer commands in backquotes."""
    return bool(advice) and bare_words(advice) in [bare_words(each) for each in _hints(reason)]


def advises_retry(advice: str) -> bool:
    """Whether a hint has a retry of the workflow in it, which is refused once another workflow has the machine."""
    return "workflow retry" in advice


def of_ours(reason: str, advice: str) -> str:
    """What a worker passes on as a hint, where that is ours; empty for the words of an action.

    A word that is only spelled as a reason of ours comes with the hint of `NonZeroExit`.
    """
    return next(
        (
            each
            for each in (*_hints(reason), Reason.NON_ZERO_EXIT.hint)
            if advice and bare_words(advice) == bare_words(each)
        ),
        "",
    )


def is_own_advice(reason: str, advice: str) -> bool:
    """Whether a hint is what an action itself advises, and none of ours: no words of an action have backquotes."""
    if not advice or "`" in advice:
        return False
    return bare_words(advice) not in [bare_words(each) for each in (*_hints(reason), Reason.NON_ZERO_EXIT.hint)]


def to_do(reason: str, advice: str, told: str) -> str:
    """A hint as a line for people: `told` is it with its commands; an action's own is said to be that, in quotes."""
    if is_own_advice(reason, advice):
        return f"the action advises: {quoted(advice, MAX_ADVICE)}"
    return f"what to do: {told}"


def bare_words(text: str) -> list[str]:
    """The words of a hint without the signs that make commands of some, and without NEW_TEXT, which earlier releases did not tell."""
    words = _OF_COMMANDS.sub(" ", text).split()
    return words[: -len(_NEW_TEXT)] if words[-len(_NEW_TEXT) :] == _NEW_TEXT else words


_NEW_TEXT: Final = _OF_COMMANDS.sub(" ", NEW_TEXT).split()


def markdown() -> str:
    """The table for the documentation."""
    rows = [f"| `{each}` | {_given_by(each)} | {each.means} | {each.hint} |" for each in Reason]
    return "\n".join(["| reason | given by | means | what to do |", "|---|---|---|---|", *rows])


def _given_by(reason: Reason) -> str:
    return ", ".join((giver.name or "").lower() for giver in reason.givers)
