"""The files by which the worker and the helper in an action's container speak with each other.

What the worker writes the container sees below /tinkbox/control and cannot change; what the helper and the
people in the container write comes from below /tinkbox/run, where the action may have written anything.
The helper itself is in packaging/helper.

    control/policy    where to hold: any of `before after on-failure hold`
    control/command   `SEQUENCE VERB [ARGUMENT]`: run, retry, signal N; carried out once
    control/argv      the command line, each word with a NUL behind it
    control/environ   NAME=VALUE laid over the container's environment, the same way
    control/answer    `ID ok|refused TEXT`, to the newest request
    control/info/     for people
    run/status        a line for each fact: started, failed-to-start, exited, held, command; `exited RUN CODE exit|signal|unseen`
                      tells whether a signal ended the process; unseen where that helper ended with it
    run/request       a line of JSON for each verdict that is asked for inside the container
"""

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tinkbox.model.breakpoint import Armed, Kind, Verb
from tinkbox.model.errors import Invalid
from tinkbox.model.text import one_line
from tinkbox.model.workflow import Outcome
from tinkbox.runtime.folders import remove
from tinkbox.wire.messages.json_fields import flag, member, read_object, text
from tinkbox.wire.messages.worker import Offer, action_document
from tinkbox.worker.files.shell_welcome import about, prompt
from tinkbox.worker.files.toolbox import SCRIPTS
from tinkbox.worker.files.writable_file import make_writable

TARGET = "/tinkbox"
ENTRYPOINT = f"{TARGET}/bin/entrypoint"
RUN = f"{TARGET}/run"
"""The only one of its mounts that a container may write to."""
# The paths of Tekton's proposal (TEP-0042): its scripts, and what there is to know of a step below the step's number.
TEKTON = "/tekton/debug"
MAX_READ = 64 * 1024
MAX_ID = 64
MAX_ANSWER = 1_024
_DIGITS = 18
_KILLED = {"signal": True, "exit": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFailure:
    """The errno with which a program did not start; `interpreter` when it is there, but not what executes it."""

    number: int
    interpreter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the helper said last of the action's command.

    `run` counts the times it ran from 1, `pid` is its process as the container numbers it, while it runs.
    `exited` is how it ended, as a shell says it, unless it never began (`failure`); `killed` tells whether a signal ended
    it, None where that is not known, as when it ended `unseen`: together with the helper that had started it.
    `held` is where it is held, if it is.  `command` is the last command that was heard, `obeying` tells that nothing came
    of it yet.
    """

    run: int = 0
    pid: int | None = None
    exited: int | None = None
    killed: bool | None = None
    unseen: bool = False
    failure: StartFailure | None = None
    held: Kind | None = None
    command: int = 0
    obeying: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A verdict that is asked for inside the container, in the shell session `shell` if that is known."""

    id: str
    verb: Verb
    why: str = ""
    fresh: bool = False
    shell: str = ""


class HelperFiles:
    """Those of one attempt, below one folder for all; what writes may raise OSError."""

    def __init__(self, root: Path, attempt: str) -> None:
        self._folder = root / attempt
        self._control = self._folder / "control"
        self.run = self._folder / "run"

    def prepare(self) -> None:
        """Make what is not there yet, for a container that is about to be made."""
        for folder in (self._control, self._control / "info", self.run):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
        for name in ("status", "request"):
            make_writable(self.run / name)
        for name in ("argv", "environ"):
            link = self._control / "info" / name
            if not link.is_symlink():
                link.symlink_to(f"{TARGET}/control/{name}")  # from wherever it is seen

    @property
    def prepared(self) -> bool:
        """Whether a container was about to be made."""
        return self.run.is_dir()

    def mounts(self, tools: Path, step: int) -> dict[str, str]:
        """What the container of the action of this number needs, sources by target; `tools` is what `toolbox.install` returned."""
        return {
            TARGET: str(tools),
            f"{TARGET}/control": str(self._control),
            RUN: str(self.run),
            f"{TEKTON}/scripts": str(tools / SCRIPTS),
            f"{TEKTON}/info/{step}": str(self._control / "info"),
        }

    def forget(self) -> None:
        """Remove them all."""
        remove(self._folder)

    def set_policy(self, armed: Armed, *, again: bool = False) -> None:
        """Have the helper hold there from now on; what it holds already it goes on holding.

        A helper that starts once more holds at once when it is started `again` for that, and runs nothing by itself.
        """
        words = {"before": armed.before, "after": armed.after, "on-failure": armed.on_failure, "hold": again}
        self._write("policy", " ".join(word for word, wanted in words.items() if wanted) + "\n")

    @property
    def program(self) -> str:
        """What the command line runs, as it names it."""
        return next(iter(self._words("argv")), "")

    def set_command_line(self, words: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """What the helper runs next, with what is laid over the environment; raises Invalid when nothing can run so."""
        if not words:
            raise Invalid("a command line has at least one word")
        argv = _terminated(words)
        environ = _terminated([f"{name}={value}" for name, value in (environment or {}).items()])
        self._write("environ", environ)
        self._write("argv", argv)

    def change_command_line(self, words: Sequence[str] | None, environment: Mapping[str, str]) -> None:
        """Change what the helper runs next: `words` if there are any, and more that is laid over the environment."""
        laid = dict(entry.split("=", 1) for entry in self._words("environ"))
        self.set_command_line(words or self._words("argv"), {**laid, **environment})

    @property
    def given(self) -> int:
        """The number of the newest command, 0 before there was any."""
        return _number(_head(self._control / "command").split(" ", 1)[0]) or 0

    def pending(self, status: Status) -> str:
        """The verb of the newest command, if by this status nothing had come of it."""
        words = _head(self._control / "command").split()
        waits = self.given > status.command or (status.obeying and self.given == status.command)
        return words[1] if len(words) > 1 and waits else ""

    def next_command(self) -> int:
        """The number of a new command."""
        return max(self.given, self.status().command) + 1

    def command(self, verb: str, argument: str = "", *, sequence: int | None = None) -> int:
        """Give a command; returns its number.  With a `sequence` it is one that may have been given already."""
        number = self.next_command() if sequence is None else sequence
        self._write("command", " ".join(filter(None, (str(number), verb, argument))) + "\n")
        return number

    def status(self) -> Status:
        """What the helper said until now; lines that it cannot have written are passed over."""
        status = Status()
        for line in _tail(self.run / "status").splitlines():
            status = _after(status, line)
        return status

    def requests_so_far(self) -> int:
        """How many verdicts were asked for until now."""
        return sum(1 for _ in self._requests())

    def requests(self, after: int) -> list[Request]:
        """The verdicts that were asked for behind this many."""
        return list(self._requests())[after:]

    def answer(self, request: str, ok: bool, words: str) -> None:
        """Tell whoever waits for the answer to this request, and prints it."""
        self._write("answer", f"{request} {'ok' if ok else 'refused'} {one_line(words, MAX_ANSWER)}\n")

    def describe(self, offer: Offer, kind: Kind, outcome: Outcome | None) -> None:
        """Tell those who look into the container where they are."""
        action = offer.action
        self._write("info/action.json", json.dumps(action_document(action), indent=2) + "\n")
        self._write("info/outcome.json", json.dumps(None if outcome is None else asdict(outcome), indent=2) + "\n")
        self._write("info/about", about(offer, kind, outcome))
        self._write("info/prompt", prompt(action, outcome) + "\n")

    def _requests(self) -> Iterator[Request]:
        # What has no end yet is still being written.
        for line in _head(self.run / "request").split("\n")[:-1]:
            try:
                yield _request(line)
            except Invalid:
                continue

    def _words(self, name: str) -> list[str]:
        try:
            content = (self._control / name).read_bytes()
        except FileNotFoundError:
            return []
        return [os.fsdecode(word) for word in content.split(b"\0")[:-1]]

    def _write(self, name: str, content: str | bytes) -> None:
        path = self._control / name
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_bytes(content if isinstance(content, bytes) else content.encode(errors="replace"))
        fresh.chmod(0o644)
        fresh.replace(path)


def _terminated(words: Sequence[str]) -> bytes:
    if any("\0" in word for word in words):
        raise Invalid("no word of a command line or an environment holds a NUL")
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _after(status: Status, line: str) -> Status:
    """The status behind one more line."""
    fact, _, rest = line.partition(" ")
    subject, _, rest = rest.partition(" ")
    value, _, rest = rest.partition(" ")
    counted, number = _number(subject), _number(value)
    if counted is None:
        return status
    if fact == "command":
        return replace(status, command=max(status.command, counted), obeying=True)
    if fact == "held" and value in set(Kind):
        return replace(status, held=Kind(value), obeying=False)
    if number is None:
        return status
    run = Status(run=counted, command=status.command)
    match fact:
        case "started":
            return replace(run, pid=number)
        case "failed-to-start":
            return replace(run, failure=StartFailure(number=number, interpreter=rest == "interpreter"))
        case "exited" if number <= 255:
            return replace(run, exited=number, killed=_KILLED.get(rest), unseen=rest == "unseen")
    return status


def _number(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= _DIGITS else None


def _head(path: Path) -> str:
    """The beginning of a file, empty when there is none."""
    return _read(path, last=False)


def _tail(path: Path) -> str:
    """The end of a file, empty when there is none."""
    return _read(path, last=True)


def _read(path: Path, *, last: bool) -> str:
    try:
        # The action may have put anything in its place.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return ""
            file.seek(max(0, found.st_size - MAX_READ) if last else 0)
            return file.read(MAX_READ).decode(errors="replace")
    except OSError:
        return ""


def _request(line: str) -> Request:
    entry = read_object(line, "request")
    identifier = text(entry, "id")
    if not (identifier.isascii() and identifier.isalnum() and len(identifier) <= MAX_ID):
        raise Invalid("request: the id is letters and digits")
    return Request(
        id=identifier,
        verb=member(entry, "verb", Verb),
        why=text(entry, "why", ""),
        fresh=flag(entry, "fresh"),
        shell=text(entry, "shell", ""),
    )
