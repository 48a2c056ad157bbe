"""What pages show, of the documents that the appliance answers with: a machine, a workflow, the doctor, older workflows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tinkbox.model.actions.progress import in_words
from tinkbox.model.cells import cells
from tinkbox.model.command_lines import PROGRAM
from tinkbox.model.text import counted
from tinkbox.model.workflow import State
from tinkbox.view.columns import DECIDED, stage_of, why
from tinkbox.view.groups import groups_of, in_ranges
from tinkbox.view.lines import Line, age, clean, elapsed, fitted, flowed, folded, followed, wrapped
from tinkbox.view.log_end import LONGEST
from tinkbox.view.row import Row, advice_of, natural_key
from tinkbox.view.standing import Standing, is_being_carried_out, rollout_of
from tinkbox.wire.messages.named_machines import machine_name, machines_of
from tinkbox.wire.messages.status import StrangerLine, WorkLine, progress_of

Document = Mapping[str, Any]
SHOWN_SIGHTINGS: Final = 12
LEAST_LOG: Final = 5  # lines of it on the page of a machine
EARLIER: Final = "EARLIER WORKFLOW, WHICH IS OVER"
UNCERTAIN: Final = "sent and not answered: it is uncertain whether it was done, so look before you ask again"
HELP: Final[Sequence[tuple[str, str]]] = (
    ("j k ↓ ↑", "next and previous machine"),
    ("g G Home End", "first and last"),
    ("PgDn PgUp", "a page down and up"),
    ("Space", "mark the machine, or unmark it, and go to the next; on a page: a page down"),
    ("*", "mark all that are shown"),
    ("u", "unmark all"),
    (
        "/",
        "a new filter: each word is in its line, address, MAC or labels; a state is that alone, failed,held either; Ctrl-W clears a word",
    ),
    ("", "exact labels: rack!=r1,gpu=yes, rack in (r1,r2), !rack; not: !word"),
    ("Esc", "back from a page; on the list, unmark all, then clear the filter"),
    ("S Tab", "sort by problem, name, state or age"),
    ("p", "problems by reason, with all machines that have each; Enter lists those"),
    ("Enter", "the machine: its actions, the end of its log, its boot"),
    ("l", "the log of its workflow"),
    ("o", "older workflows of the machine; Enter shows one"),
    ("d", "the doctor: why machines do not boot, on a machine's page why it does not; it listens for some seconds"),
    ("s", "a shell in the held action; Enter ~. comes back"),
    ("c", "continue a held action"),
    ("r", "retry: run a held action again, or resume a workflow that failed"),
    ("a", "abort what is held; cancel a workflow that is not over"),
    ("", "on the list c, r and a are for all marked machines, if there are any, after one question"),
    ("", "one that was canceled is resumed only where r is for that machine alone"),
    ("!", "what of that was refused, is uncertain, was not sent, or went on meanwhile, by reason"),
    ("q", "back from a page; on the list, leave"),
    ("Ctrl-C", "leave from everywhere"),
)
_MARKS: Final = {
    State.PENDING: Standing.PENDING,
    State.RUNNING: Standing.RUNNING,
    State.LEAVING: Standing.RUNNING,
    State.HELD: Standing.HELD,
    State.STOPPING: Standing.STOPPING,
    State.SUCCESS: Standing.SUCCESS,
    State.SKIPPED: Standing.SUCCESS,
    State.FAILED: Standing.FAILED,
    State.TIMEOUT: Standing.TIMEOUT,
    State.CANCELED: Standing.CANCELED,
}


def help_page(width: int) -> list[Line]:
    """The keys."""
    widest = max(len(keys) for keys, _ in HELP)
    lines: list[Line] = []
    for keys, about in HELP:
        first, *more = wrapped(about, max(1, width - widest - 2))
        lines.append(((fitted(keys, widest), "bold"), ("  ", ""), *first))
        lines += [((" " * (widest + 2), ""), *each) for each in more]
    return lines


def machine_page(
    row: Row,
    sightings: Sequence[Document],
    workflow: Document | None,
    log: Sequence[str],
    now: datetime,
    width: int,
    height: int,
) -> list[Line]:
    """A machine: how it stands and what to do, the actions of its workflow, the end of what these printed, its boot.

    As much of the log is there as leaves the rest before it on the first screen of this `height`.  The boot comes first where
    that is what does not go on.
    """
    lines = [*_about(row, now, width)]
    is_of_work = workflow is not None and row.work is not None
    boot = [*_sightings(row, sightings, _time(workflow.get("created_at")) if is_of_work and workflow else None, width)]
    boot = [*_titled("BOOT", boot)] if boot else []
    is_boot_first = row.standing in (Standing.PARKED, Standing.STALLED)
    lines += boot if is_boot_first else []
    if workflow is not None:
        work = row.work if is_of_work else None
        lines += _work(workflow, work, now, width, title="WORKFLOW" if is_of_work else EARLIER)
        lines += _end_of_log(log, width, max(LEAST_LOG, height - len(lines) - len(_titled("LOG"))))
    return lines if is_boot_first else [*lines, *boot]


def gone_page(name: str, machine: Document | None, now: datetime, width: int, program: str = PROGRAM) -> list[Line]:
    """What became of a machine that is out of the view, of its document, or of None where there is none."""
    if machine is None:
        return wrapped(f"{name} is gone: it was deleted, or not seen for a while", width, style="yellow")
    retired = machine.get("retired")
    if retired is None:
        return wrapped(f"{name} is registered: Esc leads back to the list", width, style="yellow")
    at, reason = _time(retired.get("at")), clean(str(retired.get("reason", "")))
    when = f" {age(at, now)} ago" if at else ""
    told = f"{name} was retired by {clean(str(retired.get('who', '')))}{when}" + (f": {reason}" if reason else "")
    return [
        *wrapped(told, width, style="yellow"),
        *wrapped(f"what to do: `{program} hardware return {name}` takes it back into service", width, "  ", "yellow"),
    ]


def workflow_page(
    workflow: Document, work: WorkLine | None, log: Sequence[str], now: datetime, width: int
) -> list[Line]:
    """The machines of a workflow, its actions, its services, and the end of its log; `work` is what a row shows of it, if one does."""
    # An earlier appliance does not tell them.
    machines = in_ranges(sorted(map(machine_name, workflow.get("machines", ())), key=natural_key))
    lines = wrapped(clean(f"on {' '.join(machines)}", 10_000), width, style="bold") if machines else []
    lines += _work(workflow, work, now, width, "WORKFLOW")
    return [*lines, *_titled("LOG", _log(log, width))] if log else lines


def log_page(log: Sequence[str], width: int) -> list[Line]:
    """The end of what a workflow's actions printed, as far as the view keeps it."""
    return _log(log, width) or [(("nothing was printed", "dim"),)]


def _work(workflow: Document, work: WorkLine | None, now: datetime, width: int, title: str) -> list[Line]:
    """The actions of a workflow, and its services; `work` is what a row shows of it, if one does."""
    state = _standing(workflow.get("state"))
    head = (
        (f"{state.mark} {clean(str(workflow.get('name', '')))}", state.style),
        (clean(str(workflow.get("id", ""))), "dim"),
        (clean(str(workflow.get("state", ""))), state.style),
    )
    lines: list[Line] = [*_titled(title, flowed(head, width)), *_actions(workflow, work, now, width)]
    services = workflow.get("services") or ()
    if services:
        lines += _titled("SERVICES", [line for each in services for line in _service(each, width)])
    return lines


def _log(log: Sequence[str], width: int) -> list[Line]:
    return [((part, ""),) for each in log for part in folded(clean(each, LONGEST), width)]


def _end_of_log(log: Sequence[str], width: int, height: int) -> list[Line]:
    """So many lines of the end of a log, with their title."""
    lines = _log(log, width)
    if not lines:
        return []
    return _titled("LOG" if len(lines) <= height else "LOG: the last lines; l shows more", lines[-height:])


def doctor_page(found: Document, width: int) -> list[Line]:
    """What the doctor says, the gravest first."""
    lines: list[Line] = []
    for each in found.get("diagnoses", ()):
        style = "red" if each["gravity"] == "fault" else "yellow"
        # An earlier appliance tells of no workflow.
        patient = clean(each["machine"]) or clean(each.get("workflow", ""))[:8]
        head = "  ".join(part for part in (clean(each["gravity"].upper()), clean(each["rule"]), patient) if part)
        lines.append(((head, style),))
        lines += wrapped(clean(each["cause"]), width, "  ")
        for evidence in each["evidence"]:
            lines += wrapped(clean(evidence), width, "    ", "dim")
        lines += wrapped(f"What to do: {clean(each['remedy'])}", width, "  ", "yellow")
        lines.append(())
    if not lines:
        lines.append((("Nothing wrong was found.", "green"),))
        if found.get("examined"):
            lines += wrapped(
                f"Examined: {', '.join(clean(str(each)) for each in found['examined'])}.", width, "", "dim"
            )
    left_out = [f"{clean(each['what'])} ({clean(each['why'])})" for each in found.get("unexamined", ())]
    if left_out:
        lines += wrapped(f"Not examined: {'; '.join(left_out)}.", width, "", "dim")
    elif found.get("unasked"):
        lines += wrapped(f"Other DHCP servers were not asked for: {clean(found['unasked'])}", width, "", "dim")
    return lines


def older_page(
    workflows: Sequence[Document], total: int, now: datetime, width: int, *, of_all: bool = False
) -> tuple[list[Line], list[str]]:
    """A line for each workflow, with their ids; those who come are the newest first, of a `total`.  Those `of_all` machines name these."""
    if not workflows:
        return [(("there is none", "dim"),)], [""]
    lines: list[Line] = []
    for each in workflows:
        state = _standing(each.get("state"))
        reason = ": ".join(clean(str(each[name])) for name in ("reason", "message") if each.get(name))
        created = _time(each.get("created_at"))
        lines.append(
            (
                (fitted(f"{state.mark} {state.word}", 11), state.style),
                (fitted(clean(str(each.get("id", "")))[:8], 10), "dim"),
                *([(f"{fitted(clean(machines_of(each)), max(8, min(26, width // 5)))}  ", "")] if of_all else []),
                (fitted(clean(str(each.get("name", ""))), max(8, min(30, width // 4))), "bold"),
                (fitted(f"{age(created, now)} ago" if created else "", 8, right=True), "dim"),
                ("  ", ""),
                (reason, state.style if reason else ""),
            )
        )
    ids = [str(each.get("id", "")) for each in workflows]
    if total > len(workflows):
        lines.append(((f"… {len(workflows)} of {total} shown: tinkbox workflow list has all", "dim"),))
        ids.append("")
    return lines, ids


def problems_page(rows: Iterable[Row], width: int) -> tuple[list[Line], list[str]]:
    """Every problem with the names of all machines that have it; with each line what finds these in the list."""
    lines: list[Line] = []
    filters: list[str] = []
    for group in groups_of(rows):
        state = group.standing
        about = [(f"{state.mark} {state.word} {group.reason}".rstrip(), state.style)]
        names = wrapped(" ".join(in_ranges(group.names)), width, "    ")
        lines += [(*about, (f"  {counted(len(group.names), 'machine')}", "dim")), *names]
        filters += [group.filter] * (len(lines) - len(filters))
    if not lines:
        return [(("there is no problem", "green"),)], [""]
    return lines, filters


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDone:
    """Of what was asked of machines, what was not done, or may not be: names and reasons.

    `refused` is what the appliance refused, `uncertain` what was sent and has no answer, `unsent` what was not sent at all.  While
    a person was asked, machines that are `late` went on, and the workflow of those that are `gone` was deleted.
    """

    refused: tuple[tuple[str, str], ...] = ()
    uncertain: tuple[tuple[str, str], ...] = ()
    unsent: tuple[tuple[str, str], ...] = ()
    late: tuple[tuple[str, str], ...] = ()
    gone: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.refused) + len(self.uncertain) + len(self.unsent) + len(self.late) + len(self.gone)

    def __add__(self, other: "NotDone") -> "NotDone":
        return NotDone(
            refused=self.refused + other.refused,
            uncertain=self.uncertain + other.uncertain,
            unsent=self.unsent + other.unsent,
            late=self.late + other.late,
            gone=self.gone + other.gone,
        )


def refused_page(not_done: NotDone, unanswered: int, width: int) -> list[Line]:
    """Of what was asked of machines, what was refused, and what else was not done: each reason with the names that have it.

    So many were asked for and are `unanswered`: nothing is known of them yet.
    """
    if unanswered:
        asked = f"asking for {counted(unanswered, 'machine')} …: what is refused stands here once all have their answer"
        return wrapped(asked, width, style="dim")
    names: dict[str, list[str]] = {}
    # Why there is no answer has in it what was asked of each machine, so that no two would have the same reason.
    named = [(name, UNCERTAIN) for name, _ in not_done.uncertain]
    named += [(name, f"not sent: {reason}") for name, reason in not_done.unsent]
    named += [(name, f"went on meanwhile: {became}") for name, became in not_done.late]
    for name, reason in (*not_done.refused, *named, *not_done.gone):
        names.setdefault(clean(reason), []).append(name)
    lines: list[Line] = []
    for reason, those in names.items():
        lines += [
            *wrapped(reason, width, style="yellow"),
            *wrapped(" ".join(in_ranges(sorted(those, key=natural_key))), width, "    "),
        ]
    return lines or [(("nothing was refused", "dim"),)]


def _about(row: Row, now: datetime, width: int) -> Iterator[Line]:
    machine, work, standing = row.machine, row.work, row.standing
    seen = f"last seen: {clean(machine.stage)}" if machine.stage else stage_of(machine)
    pieces = [
        (f"{standing.mark} {standing.word}", standing.style),
        (clean(machine.mac), ""),
        (clean(machine.address), ""),
        (seen, "dim"),
        *((f"{clean(key)}={clean(value)}", "dim") for key, value in machine.labels.items()),
    ]
    yield from flowed(pieces, width)
    is_decided = work is not None and is_being_carried_out(work)
    stands = why(row, now)
    if standing.is_problem or is_decided or machine.diagnosis or machine.silent_since:
        yield from wrapped(stands, width, "  ", standing.style)
    if machine.diagnosis and clean(machine.diagnosis) not in stands:
        yield from wrapped(f"doctor: {clean(machine.diagnosis)}", width, "  ", "yellow")
    if machine.rollout:
        verb = "resume" if machine.rollout_paused else "get"
        turn = f"waits for its turn in {rollout_of(machine)}: tinkbox rollout {verb} {clean(machine.rollout)[:8]}"
        yield from wrapped(turn, width, "  ", "yellow")
    if advice := advice_of(machine):
        yield from wrapped(clean(advice), width, "  ", "yellow")
    if standing is Standing.HELD or is_decided:
        keys = "if its machine does not answer, a cancels the workflow"
        keys = keys if is_decided else "s opens a shell in it; c continues, r retries, a aborts"
        yield from wrapped(keys, width, "  ", "bold yellow")
    if isinstance(row.line, StrangerLine) and row.line.remedy:
        yield from wrapped(f"what to do: {clean(row.line.remedy)}", width, "  ", "yellow")
    elif isinstance(row.line, StrangerLine):
        yield ((f"  register it: tinkbox hardware add {clean(machine.mac)} --name NAME", "yellow"),)


def _titled(title: str, lines: Iterable[Line] = ()) -> list[Line]:
    return [(), ((title, "dim"),), *lines]


def _sightings(row: Row, sightings: Sequence[Document], since: datetime | None, width: int) -> Iterator[Line]:
    """The newest ones; where `since` is given, none that is older."""
    newer = [each for each in sightings if since is None or (_time(each.get("at")) or since) >= since]
    shown = newer[-SHOWN_SIGHTINGS:]
    left_out = len(sightings) - len(shown)
    if left_out > 0:
        those = "these" if shown else "this workflow"
        yield from wrapped(f"… {left_out} before {those}: tinkbox hardware get {row.name}", width, style="dim")
    widest = max((cells(clean(str(each.get("stage", "")))) for each in shown), default=0)
    column = min(widest, max(12, width // 3))
    for each in shown:
        at = _time(each.get("at"))
        stage, detail = clean(str(each.get("stage", ""))), clean(str(each.get("detail", "")))
        line = (
            (at.astimezone().strftime("%H:%M:%S") if at else " " * 8, "dim"),
            ("  ", ""),
            (fitted(stage, max(column, cells(stage))), ""),
            ("  ", ""),
        )
        yield from followed(line, detail, width, "dim")


def _actions(workflow: Document, work: WorkLine | None, now: datetime, width: int) -> Iterator[Line]:
    actions = workflow.get("actions") or ()
    for number, each in enumerate(actions, 1):
        word, how = clean(str(each.get("state", ""))), _how(each)
        began, ended = _time(each.get("started_at")), _time(each.get("ended_at"))
        if word == State.HELD and State.STOPPING in (workflow.get("state"), work.state if work else None):
            word = Standing.STOPPING.word  # what is being stopped waits for no verdict
            began, ended = work.since if work else began, None
        elif word == State.HELD and work is not None and work.held is not None:
            # As the row of its machine: since when it is held, and held no more once a verdict was given.
            began, ended = work.since, None
            if is_being_carried_out(work):
                word, how = Standing.RUNNING.word, DECIDED + (f"; {how}" if how else "")
        state = _standing(word)
        line = (
            (f"{state.mark} ", state.style),
            (fitted(str(number), 4), "dim"),
            (fitted(clean(str(each.get("name", ""))), min(28, max(12, width // 4))), "bold"),
            ("  ", ""),
            (fitted(word, 8), state.style),
            (fitted(elapsed(began, ended or now) if began else "", 8, right=True), "dim"),
            ("  ", ""),
        )
        yield from followed(line, how, width, state.style if state.is_problem else "dim")


def _how(action: Document) -> str:
    """How far an action is, or how it ended."""
    if (progress := progress_of(action.get("progress"))) is not None:
        return clean(in_words(progress))
    outcome = action.get("outcome") or {}
    parts = [clean(str(outcome[name])) for name in ("reason", "message") if outcome.get(name)]
    code = outcome.get("exit_code")
    return ": ".join(parts) + (f" (exit code {code})" if code else "")


def _service(service: Document, width: int) -> list[Line]:
    message = clean(str(service.get("message", "")))
    told = [clean(str(service.get(name, ""))) for name in ("name", "host", "phase")]
    return followed(((f"{fitted(told[0], 20)}  {fitted(told[1], 16)}  {told[2]}  ", ""),), message, width, "yellow")


def _standing(state: object) -> Standing:
    """A state's mark and style; a state that is unknown here looks as one that waits."""
    try:
        return _MARKS[State(str(state))]
    except ValueError:
        return Standing.PENDING


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
