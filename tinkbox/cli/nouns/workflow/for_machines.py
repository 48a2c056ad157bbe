"""`tinkbox workflow create -t TEMPLATE MACHINE…`: a workflow for one machine, a rollout for several."""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from tinkbox.cli.called_as import called_as
from tinkbox.cli.connection import ask
from tinkbox.cli.flags import DOCUMENTS, EachOnce, add_format, add_selector, add_yes, assignment
from tinkbox.cli.input_documents import devices_and_parameters
from tinkbox.cli.nouns.workflow.made import FORMATS, FORMATS_HELP, tell_made, tell_workflows
from tinkbox.cli.output.created import results_of
from tinkbox.cli.output.formats import Document, fields, for_people, json_of, short, show_notes, yaml_of
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.refusals import tell_refusal
from tinkbox.cli.selection import named_and_selected
from tinkbox.cli.terminal.questions import Questions, confirm
from tinkbox.cli.typed_words import key_for_scripts
from tinkbox.cli.wording.rollouts import REFUSED, left_out_now, of_all, pace, plan_fields, refused_reasons
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.rollout import MAX_MACHINES, OnFailure
from tinkbox.model.text import counted

if TYPE_CHECKING:
    from contextlib import closing

    from tinkbox.cli.output.progress_line import ProgressLine


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("machines", nargs="*", metavar=KeyKind.MACHINE, help="a name, a MAC, an address or an id")
    group = verb.add_argument_group(
        "rollouts",
        "Several machines, -l, --max-parallel, --on-failure, --skip-refused or --wait make a rollout (see `tinkbox rollout`).",
    )
    add_selector(group, "the machines with these labels: rack=r1,gpu!=no")
    group.add_argument("--set", dest="parameters", action=EachOnce, type=assignment, metavar="NAME=VALUE", default=[],
                       help="a parameter of the template, for every machine; may be repeated")  # fmt: skip
    group.add_argument("--max-parallel", type=_parallel, metavar="N", help="machines at a time (default: all at once)")
    group.add_argument(
        "--on-failure",
        choices=tuple(OnFailure),
        metavar="WHAT",
        help="stop: no further machine begins (default); continue: the others go on",
    )
    group.add_argument("--skip-refused", action="store_true", help="go on without the machines that cannot begin")
    group.add_argument(
        "--wait",
        action="store_true",
        help="follow it to its end; exit status 0 only when every machine succeeds; -o json and yaml print the rollout once, at its end",
    )
    group.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add_yes(verb)
    add_format(verb, FORMATS, FORMATS_HELP)


def is_meant(chosen: argparse.Namespace) -> bool:
    """Whether machines are named; ends the program for flags that are for these."""
    if chosen.machines and chosen.selector is not None:
        chosen.usage_error(named_and_selected(chosen.machines[0], KeyKind.MACHINE))
    if chosen.machines or chosen.selector is not None:
        return True
    given = {
        "--set": chosen.parameters,
        "--max-parallel": chosen.max_parallel is not None,
        "--on-failure": chosen.on_failure is not None,
        "--skip-refused": chosen.skip_refused,
        "--wait": chosen.wait,
        "--dry-run": chosen.dry_run,
    }
    for flag in (each for each, is_given in given.items() if is_given):
        if flag == "--dry-run" and chosen.file is not None:
            chosen.usage_error(
                "--dry-run is for machines; of documents, `tinkbox apply -f FILE --dry-run` says what would be made"
            )
        chosen.usage_error(f"{flag} is for machines that you name: add MACHINE, or select some with -l")
    return False


def create(chosen: argparse.Namespace, armed: Mapping[str, Any]) -> int:
    """Make a workflow for the only machine that is named, or a rollout for several; returns the exit status."""
    if chosen.template is None:
        chosen.usage_error("name the template that is for these machines: -t TEMPLATE")
    wanted = _wanted(chosen, armed)
    with _told_on_the_way(wanted) as progress:
        plan = ask(chosen, lambda operator: operator.rollouts.plan(wanted, progress))
    refusal = _refusal(chosen, plan)
    if chosen.dry_run:
        _show(chosen, plan, can_begin=refusal is None)
        if refusal is not None:
            tell_refusal(refusal)
        elif not for_people(chosen):
            _tell_left_out(plan, sys.stderr)
        return 1 if refusal else 0
    if refusal is not None:
        raise refusal
    if not _is_rollout(chosen, plan):
        _warn(plan)
        return _create_one(chosen, plan, armed)
    _confirm(chosen, plan)
    # What was shown, and nothing that was selected or refused since.
    exactly = {name: value for name, value in wanted.items() if name != "selector"}
    exactly["machines"] = [each["id"] for each in plan["machines"]]
    if not chosen.yes and plan.get("digest"):  # earlier releases tell none
        exactly["digest"] = plan["digest"]
    with _told_on_the_way(exactly) as progress:
        made = ask(chosen, lambda operator: operator.rollouts.create(exactly, progress))
    at_end = chosen.wait and chosen.format in DOCUMENTS
    if not at_end:
        tell_made(chosen, "Rollout", [made])
    _tell_left_out(plan, None if for_people(chosen) else sys.stderr)
    if chosen.wait:
        from tinkbox.cli.nouns.rollout import follow, succeeded

        ended = follow(chosen, made["id"], None if for_people(chosen) else sys.stderr)
        if at_end:
            tell_made(chosen, "Rollout", [ended])
        return succeeded(ended)
    if for_people(chosen):
        number = f"{of_all(plan)} machines" if plan["refused"] else counted(made["total"], "machine")
        print(f"{number}, {pace(made)}.  Watch: {called_as(chosen)} rollout watch {short(made['id'])}")
    return 0


def _parallel(text: str) -> int:
    """An argument that is a number of machines at a time."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MAX_MACHINES and len(text) < 9):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number of machines: write one from 1 to {MAX_MACHINES}")
    return int(text)


def _wanted(chosen: argparse.Namespace, armed: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked of the appliance."""
    asked = {
        "selector": chosen.selector,
        "max_parallel": chosen.max_parallel,
        "on_failure": chosen.on_failure,
        "breakpoints": armed or None,
        "confirm_wipe": chosen.confirm_wipe or None,
        "require_images": chosen.require_images or None,
        "strict": chosen.strict or None,
        "labels": dict(chosen.labels) or None,
    }
    return {
        "template": chosen.template,
        "machines": chosen.machines,
        "hardware": devices_and_parameters(chosen),
        **{name: value for name, value in asked.items() if value is not None},
    }


def _told_on_the_way(wanted: Mapping[str, Any]) -> "closing[ProgressLine[float]]":
    """Tells how long the template is rendered for the machines by now."""
    from tinkbox.cli.output.progress_line import while_it_works

    named, selected = wanted["machines"], wanted.get("selector")
    which = counted(len(named), "machine") if selected is None else f"the machines with {selected}"
    return while_it_works(f"checking {wanted['template']} for {which}")


def _is_rollout(chosen: argparse.Namespace, plan: Document) -> bool:
    asked = (chosen.selector, chosen.max_parallel, chosen.on_failure)
    return len(plan["machines"]) != 1 or chosen.wait or chosen.skip_refused or any(each is not None for each in asked)


def _create_one(chosen: argparse.Namespace, plan: Document, armed: Mapping[str, Any]) -> int:
    (machine,) = plan["machines"]
    made = ask(
        chosen,
        lambda operator: operator.workflows.create(
            chosen.template,
            plan["hardware"],
            armed,
            confirm_wipe=chosen.confirm_wipe,
            labels=dict(chosen.labels),
            machine=machine["id"],
            require_images=chosen.require_images,
            strict=chosen.strict,
        ),
    )
    tell_workflows(chosen, results_of(made))
    return 0


def _refusal(chosen: argparse.Namespace, plan: Document) -> Invalid | None:
    """Why nothing can begin, with every machine that stands in the way."""
    refused, left = plan["refused"], len(plan["machines"])
    if not refused or (chosen.skip_refused and left):
        return None
    reasons = refused_reasons(plan)
    problems = [Problem(text=why, key=name) for name, why in reasons[:REFUSED]]
    if len(reasons) > REFUSED:
        problems.append(Problem(text=f"and {len(reasons) - REFUSED} more"))
    way_out = "; --skip-refused goes on without them" if left else ""
    return Invalid(
        f"nothing was begun: {counted(len(refused), 'machine')} of {len(refused) + left} cannot begin{way_out}",
        problems,
    )


def _tell_left_out(plan: Document, out: TextIO | None) -> None:
    for line in left_out_now(plan, whole=not (out or sys.stdout).isatty()):
        print(clean(line), file=out, flush=True)


def _show(chosen: argparse.Namespace, plan: Document, *, can_begin: bool) -> None:
    """Print a plan; `-o name` has the machines that would begin."""
    if chosen.format == "json":
        print(json_of(plan), end="")
    elif chosen.format == "yaml":
        print(yaml_of(plan), end="")
    elif chosen.format == "name":
        named = [
            key_for_scripts(each.get("key", ""), each["id"]) for each in plan["machines"]
        ]  # earlier releases tell no key
        print("".join(f"{clean(each)}\n" for each in named if can_begin), end="")
    else:
        print(fields(chosen, plan_fields(plan)), end="")


def _warn(plan: Document) -> None:
    """Tell on standard error what would keep the machines from beginning."""
    show_notes({"notes": [{"text": each} for each in plan["warnings"] or ()]})


def _confirm(chosen: argparse.Namespace, plan: Document) -> None:
    """Show what would be done and ask, unless a flag says yes; raises Invalid for a no, and without a terminal."""
    refused = len(plan["refused"])
    without = f", without {refused} that cannot begin" if refused else ""
    number = counted(len(plan["machines"]), "machine") + without
    if not chosen.yes:
        if not Questions(yes=False).can_ask:
            raise Invalid(
                f"{number} would begin, and there is no terminal to ask on: look with --dry-run, then add --yes"
            )
        print(fields(chosen, plan_fields(plan)))
    else:
        _warn(plan)
    confirm(chosen, clean(f"Begin {plan['template']} on {number}"), line=clean(chosen.line))
