"""Rollouts in a person's words: what one would do, and how far it is.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final

from tinkbox.cli.output.formats import Document, short
from tinkbox.cli.output.printable import clean, moment
from tinkbox.model.actions.progress import Progress, in_words
from tinkbox.model.cells import cells
from tinkbox.model.rollout import (
    FAILURES,
    HOLDING,
    MAX_MACHINES,
    OVER,
    UNDER_WAY,
    UNSUCCESSFUL,
    OnFailure,
    Place,
    RolloutState,
)
from tinkbox.model.text import counted
from tinkbox.model.told_once import NAMED as FEW
from tinkbox.model.told_once import reasons_told_once

NAMED: Final = 20  # machines in a line
REFUSED: Final = 100  # lines of those that are refused
ACTIONS: Final = 50


def amount(counts: Mapping[str, int], *places: Place) -> int:
    return sum(counts[each] for each in places)


def successful(rollout: Document) -> int:
    """How many machines succeeded."""
    return amount(rollout["counts"], Place.SUCCESS)


def done(rollout: Document) -> str:
    """How many machines succeeded, of all: `12/40`."""
    return f"{successful(rollout)}/{rollout['total']}"


def under_way(rollout: Document) -> int:
    """Machines whose workflow was made and is not over."""
    return amount(rollout["counts"], *UNDER_WAY)


def unsuccessful(rollout: Document) -> int:
    return amount(rollout["counts"], *UNSUCCESSFUL)


def failed(rollout: Document) -> int:
    return amount(rollout["counts"], *FAILURES)


def canceled(rollout: Document) -> int:
    return amount(rollout["counts"], Place.CANCELED)


def left(rollout: Document) -> int:
    return amount(rollout["counts"], Place.LEFT)


def canceled_or_left(rollout: Document) -> int:
    """Machines that do not go on, without having failed."""
    return canceled(rollout) + left(rollout)


def running(rollout: Document) -> int:
    """Machines whose workflow has begun, is not over, and waits for no person."""
    return amount(rollout["counts"], *UNDER_WAY - {Place.PENDING}) - held(rollout)


def held(rollout: Document) -> int:
    """Machines whose workflow is held at a breakpoint, and waits for a person's verdict."""
    return int(rollout["held"])


def pending(rollout: Document) -> int:
    """Machines whose workflow was made, and has not begun."""
    return amount(rollout["counts"], Place.PENDING)


def waiting(rollout: Document) -> int:
    """Machines that have no workflow yet."""
    return amount(rollout["counts"], Place.WAITING)


def unbegun(rollout: Document) -> str:
    """The word for machines that have no workflow yet: in a rollout that is over, or about to be, they do not wait."""
    return "waiting" if rollout["state"] in HOLDING else "not begun"


def goes_on(rollout: Document) -> bool:
    """Whether it is not over, or machines of it are under way that were retried by themselves since."""
    if rollout["state"] not in OVER or under_way(rollout):
        return True
    all_done = successful(rollout) and successful(rollout) + left(rollout) == rollout["total"]
    return bool(all_done) and rollout["state"] != RolloutState.SUCCESS  # the last one ended just now


def pace(rollout: Document) -> str:
    """How it goes through its machines."""
    if not rollout["max_parallel"]:
        return "all at once"
    stops = "a failure stops it" if rollout["on_failure"] == OnFailure.STOP else "it goes on when one fails"
    return f"{rollout['max_parallel']} at a time; {stops}"


def names(machines: Sequence[Document], total: int) -> str:
    """The first of `total` machines by their names, and how many more there are."""
    listed = ", ".join(str(each["name"]) for each in machines[:NAMED])
    left = total - len(machines[:NAMED])
    return f"{listed}, and {left} more" if left > 0 else listed


def plan_fields(plan: Document) -> list[tuple[str, object]]:
    """What a rollout would do, as names and values; a value without a name belongs to the one before."""
    machines, wipes = plan["machines"], plan["wipes"]
    told: list[tuple[str, object]] = [
        ("Template", plan["template"]),
        ("Machines", f"{of_all(plan)}; {pace(plan)}" if machines else "none"),
    ]
    if machines:
        told.append(("Order", names(machines, len(machines))))
    if wipes is None:
        told.append(("Actions, disks", "not shown: for that you need the right to look"))
        return told + _refused_block(plan)
    actions = [f"{each['task']}/{each['action']}  {each['image']}{_disk(each)}" for each in plan["actions"]]
    told += _block("Actions", actions, ACTIONS)
    told += _block(
        "Wiped disks", [f"{each['disk']} ({counted(each['machines'], 'machine')})" for each in wipes], ACTIONS
    )
    if not wipes and machines:
        told.append(("Wiped disks", "none that the template names"))
    told += _block("Warnings", plan["warnings"], ACTIONS)
    return told + _refused_block(plan)


def refused_reasons(plan: Document, *, named: int = FEW) -> list[tuple[str, str]]:
    """Machines that cannot begin with the reason, those of one reason together; of a plan, or of what goes on without them.

    Of each reason the first `named` are named.
    """
    others = len(plan["machines"]) if "machines" in plan else plan["total"] - len(plan["refused"])
    return reasons_told_once([(each["name"], each["why"]) for each in plan["refused"]], others, named=named)


def of_all(plan: Document) -> str:
    """How many machines begin: `40`, or `40 of 42` where some are refused."""
    number, refused = len(plan["machines"]), len(plan["refused"])
    return f"{number} of {number + refused}" if refused else str(number)


def left_out_now(changed: Document, *, whole: bool) -> list[str]:
    """A line for each reason why machines are left out; of a plan, or of what goes on without them.

    The `whole` of it names each machine; else it is what fits a terminal, where the others have no reason.
    """
    if whole:
        return [f"Left out {name}: {why}" for name, why in refused_reasons(changed, named=MAX_MACHINES)]
    reasons = refused_reasons(changed)[:NAMED]
    told = {why for _, why in reasons}
    others = [each for each in changed["refused"] if each["why"] not in told]
    lines = [f"Left out {name}: {why}" for name, why in reasons]
    if others:
        more = counted(len(others), "more machine")
        lines.append(f"Left out {more}, which a pipe gets with their reasons: {names(others, len(others))}")
    return lines


def rollout_fields(rollout: Document, age: str) -> list[tuple[str, object]]:
    """Where a rollout stands, as names and values."""
    waits = waiting(rollout)
    told: list[tuple[str, object]] = [
        ("Rollout", rollout["id"]),
        ("Template", rollout["template"]),
        ("State", rollout["state"]),
        ("Machines", f"{rollout['total']}; {pace(rollout)}"),
        ("Progress", progress(rollout)),
        ("Created", f"{age} ago by {rollout['created_by']}"),
    ]
    if waits:
        told.append((unbegun(rollout).capitalize(), names(rollout["waiting"], waits)))
    return told


def progress(rollout: Document) -> str:
    """How many machines stand where."""
    told = (
        (failed(rollout), "failed"),
        (canceled(rollout), "canceled"),
        (left(rollout), "left out"),
        (running(rollout), "running"),
        (held(rollout), "held"),
        (pending(rollout), "pending"),
        (waiting(rollout), unbegun(rollout)),
    )
    return ", ".join([f"{done(rollout)} done", *(f"{number} {word}" for number, word in told if number)])


def left_out(rollout: Document) -> str:
    """Which machines count no more; empty: none."""
    number = rollout["counts"][Place.LEFT]
    if not number:
        return ""
    left = names([each for each in rollout["failures"] if each["state"] == Place.LEFT], number)
    return f"Left out, because they are retired, deleted or registered anew: {left}"


def stands(member: Document) -> str:
    """Where a machine is, in one word."""
    return "HELD" if member.get("held") else str(member["state"])


def detail(member: Document) -> str:
    """Where a machine is, and how far its action is if that says so, or why it did not succeed."""
    far = member.get("action_progress")
    return f"{_action_or_reason(member)}: {in_words(Progress(**far))}" if far else _action_or_reason(member)


def _action_or_reason(member: Document) -> str:
    """Which action of how many a machine is at, or why it did not succeed."""
    if not member.get("action"):
        return ": ".join(str(each) for each in (member["reason"], member["message"]) if each)
    if not member.get("actions_total"):  # earlier releases do not tell it
        return str(member["action"])
    return f"{member['action']}, {member['action_number']} of {member['actions_total']}"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of what is watched; `change` is what makes it worth printing again."""

    machine: str
    change: str
    text: str

    def __str__(self) -> str:
        return self.text


def watched_lines(rollout: Document, program: str, columns: int = 0, screen: int = 0) -> list[Line]:
    """How far it is, below it the machines that are held, those that failed and those under way.

    Of what is held a line says until when, and what a person may type of `program`.  With `columns`, the cells in a line, and
    the lines of a `screen` no line that is to be read to its end is longer, and machines that have no room are counted.
    """
    told = f"rollout {short(rollout['id'])} {rollout['state']}: {progress(rollout)}"
    members = sorted([*rollout["failures"], *rollout["under_way"]], key=lambda each: not each.get("held"))
    width = max((len(each["name"]) for each in members), default=0)
    lines = [Line("", told, text) for text in _wrapped(told, columns, "")]
    blocks = [_block_of(each, width, program, columns) for each in members]
    room = max(screen - 2, 3) - len(lines)
    every = amount(rollout["counts"], *UNSUCCESSFUL, Place.LEFT, *UNDER_WAY)  # of many not all are listed
    if not screen or (every <= len(blocks) and sum(map(len, blocks)) <= room):
        return [*lines, *chain.from_iterable(blocks)]
    sizes = accumulate(map(len, blocks))
    shown = sum(size < room for size in sizes)
    left = f"  and {counted(every - shown, 'more machine')}"
    if is_held := held(rollout) - sum(bool(each.get("held")) for each in members[:shown]):
        left += f", {is_held} of them held"
    return [*lines, *chain.from_iterable(blocks[:shown]), Line("more", left, left)]


def _block_of(member: Document, width: int, program: str, columns: int) -> list[Line]:
    """What is watched of a machine; names have the `width`."""
    text = f"  {member['name']:{width}}  {stands(member):8}  {detail(member) if columns else _action_or_reason(member)}".rstrip()
    # How far an action is changes all the time, and is drawn on a terminal alone.
    lines = [Line(member["machine"], f"{member['name']} {stands(member)} {_action_or_reason(member)}", text)]
    if hold := member.get("held"):
        until = f"until {moment(hold['deadline'])}, then {hold['on_expiry']}:"
        way = f"{program} breakpoint {'|'.join(hold['verdicts'])} {short(member['workflow'])}"
        texts = [f"  {'':{width}}  {until} {way}"]
        if columns and cells(texts[0]) > columns:
            texts = [*_wrapped(until, columns, "    "), *_wrapped(way, columns, "    ")]
        # Whoever works in its container moves its deadline all the time.
        lines += [Line(f"{member['machine']} held", hold["since"], each) for each in texts]
    return lines


def _wrapped(text: str, columns: int, indent: str) -> list[str]:
    """A text in lines of so many cells, 0: in one."""
    import textwrap

    if not columns:
        return [indent + text]
    return textwrap.wrap(
        clean(text),
        max(columns, 20),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
    )


def last_words(rollout: Document, program: str) -> list[str]:
    """What to say when it is over."""
    key = short(rollout["id"])
    if rollout["state"] == RolloutState.SUCCESS:
        return []
    said = []
    looked_into = (each for each in rollout["failures"] if each["workflow"] and not each.get("workflow_deleted"))
    if one := next((each for each in looked_into if each["state"] != Place.LEFT), None):
        said.append(f"look into one:   {program} workflow state {short(one['workflow'])}")
    if unsuccessful(rollout):
        said.append(f"try them again:  {program} rollout retry {key}")
    if waiting(rollout):
        said.append(f"only go on:      {program} rollout resume {key}")
    return said


def _refused_block(plan: Document) -> list[tuple[str, object]]:
    return _block("Refused", [f"{name}: {why}" for name, why in refused_reasons(plan)], REFUSED)


def _disk(action: Document) -> str:
    return f"  disk: {action['disk']}" if action["disk"] else ""


def _block(title: str, lines: Sequence[str], most: int) -> list[tuple[str, object]]:
    """Lines below one title."""
    shown = list(lines[:most])
    if len(lines) > most:
        shown.append(f"and {len(lines) - most} more")
    return [("" if number else title, line) for number, line in enumerate(shown)]
