"""Nouns, verbs and flags: 2020's `tink`, and what tinkbox adds."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tinkbox.cli.breakpoint_parser import add_breakpoint, command_apart
from tinkbox.cli.discovery_parser import add_discovery
from tinkbox.cli.grammar import (
    Verbs,
    add_confirmation,
    add_keys,
    add_listing,
    add_noun,
    add_text_source,
    add_verb,
    breakpoint_place,
)
from tinkbox.cli.service_parser import add_service

DESCRIPTION = "Takes machines from bare metal to installed system."


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The chosen command: `run` names its function as `module:function` below `tinkbox.cli`.

    Exits with status 2 when the command line is wrong.
    """
    parser = _parser()
    words, command = command_apart(arguments)
    chosen = parser.parse_args(words)
    if command and not hasattr(chosen, "command"):
        parser.error(f"what follows -- is a command to run, and {' '.join(words)} runs none")
    if hasattr(chosen, "command"):
        chosen.command = command
    if chosen.run == "workflow:create" and (chosen.template is None) is not (chosen.hardware is None):
        parser.error("-t and -r go together, or neither of them with a file of Kubernetes documents")
    if chosen.worker:
        chosen.run = "worker:work"
    elif not getattr(chosen, "run", ""):
        chosen.run = "about:show_help"
        chosen.help_text = parser.format_help()
    return chosen


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tinkbox", description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument(
        "--version", action="store_const", const="about:show_version", dest="run", help="the same as `tinkbox version`"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="the data directory of an appliance on this host")
    # What the appliance starts to render a template apart from itself.
    parser.add_argument(
        "--render", action="store_const", const="render:render", dest="run", default="", help=argparse.SUPPRESS
    )
    worker = parser.add_argument_group("worker", "inside the in-memory operating system of a machine")
    worker.add_argument("--worker", action="store_true", help="run the actions of this machine's workflows")
    worker.add_argument("--server", metavar="URL", help="the node door, instead of the credential's")
    worker.add_argument("--credential", type=Path, metavar="FILE", help="from `tinkbox hardware credential`")
    worker.add_argument("--docker", metavar="URL", help="the Docker engine (unix:///var/run/docker.sock)")
    worker.add_argument("--no-privileged", action="store_true", help="run actions without privileges")
    worker.add_argument("--no-debug", action="store_true", help="hold no action at a breakpoint and open no shell")
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND")
    _serve(nouns)
    _hardware(add_noun(nouns, "hardware", "the machines"))
    _template(add_noun(nouns, "template", "what can be done with machines"))
    _workflow(add_noun(nouns, "workflow", "what is done with machines"))
    add_breakpoint(nouns)
    add_service(nouns)
    _image(add_noun(nouns, "image", "the images that actions run from"))
    _osie(add_noun(nouns, "osie", "the in-memory operating system"))
    events = add_noun(nouns, "events", "what happens")
    watch = add_verb(events, "watch", "events:watch", "print every event as it happens")
    watch.add_argument("--after", type=int, metavar="N", help="first those behind the one whose `sequence` is N")
    add_verb(nouns, "status", "status:show", "the appliance at a glance, live in a terminal")
    doctor = add_verb(
        nouns, "doctor", "doctor:examine", "why machines do not boot; exit status 1 when there is a fault"
    )
    doctor.add_argument("machine", nargs="?", metavar="MAC", help="only this machine, known or not")
    doctor.add_argument("--format", choices=("table", "json"), default="table")
    add_verb(nouns, "version", "about:show_version", "the program's version")
    return parser


def _serve(nouns: "Verbs[argparse.ArgumentParser]") -> None:
    serve = add_verb(nouns, "serve", "serve:serve", "run the appliance")
    serve.add_argument("--config", type=Path, metavar="FILE", help="default: /etc/tinkbox/tinkbox.yaml when it exists")
    serve.add_argument("--data", type=Path, metavar="DIR", default=argparse.SUPPRESS, help="beats the configuration")
    serve.add_argument("--check", action="store_true", help="look at everything, say what is wrong, and end")


def _hardware(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    push = add_verb(verbs, "push", "hardware:push", "store a machine's hardware document, or replace it")
    push.add_argument("--file", type=Path, metavar="F", help="JSON, or kind: Hardware; without it, standard input")
    listing = add_listing(add_verb(verbs, "list", "hardware:show_list", "one line per interface"))
    listing.add_argument("--seen", action="store_true", help="every machine that was seen, known or not")
    add_listing(add_verb(verbs, "get", "hardware:get", "machines with their boots' timelines, or the list"), keys="*")
    add_listing(add_verb(verbs, "leases", "leases:show_list", "the addresses of pools that are lent"))
    add_keys(add_verb(verbs, "id", "hardware:by_id", "documents by id"))
    for name in ("mac", "ip"):
        by_address = add_keys(add_verb(verbs, name, f"hardware:by_{name}", f"machines by {name.upper()} address"))
        by_address.add_argument("-d", "--details", action="store_true", help="the whole document")
    add_keys(add_verb(verbs, "delete", "hardware:delete", "forget machines"))
    add_keys(add_verb(verbs, "watch", "hardware:watch", "print a document whenever it changes"))
    credential = add_verb(verbs, "credential", "hardware:credential", "what makes a worker this machine's")
    credential.add_argument("key", metavar="MAC")
    add_discovery(verbs)


def _template(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    create = add_verb(verbs, "create", "template:create", "store a template")
    create.add_argument("-n", "--name", help="letters, digits, dot, dash and underscore; a kind: Template has its own")
    add_text_source(create)
    add_listing(add_verb(verbs, "list", "template:show_list", "every template"))
    add_listing(add_verb(verbs, "get", "template:get", "a template's text, or the list"), keys="*")
    update = add_verb(verbs, "update", "template:update", "change a template; existing workflows stay as they are")
    update.add_argument("key", metavar="TEMPLATE")
    update.add_argument("-n", "--name")
    add_text_source(update)
    add_keys(add_verb(verbs, "delete", "template:delete", "forget templates"))
    validate = add_verb(verbs, "validate", "template:validate", "say what is wrong with a template, for every machine")
    validate.add_argument("source", nargs="?", metavar="FILE|KEY", help="a file, or a stored template")
    validate.add_argument("-r", "--hardware", metavar="JSON", help="for these devices only")
    add_text_source(validate)


def _workflow(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    create = add_verb(verbs, "create", "workflow:create", "bind a template to machines")
    create.add_argument("-t", "--template", metavar="TEMPLATE")
    create.add_argument("-r", "--hardware", metavar="JSON", help='{"device_1": "08:00:27:00:00:01"}')
    create.add_argument("--file", type=Path, metavar="F", help="instead of -t and -r, documents of kind: Workflow")
    create.add_argument(
        "--breakpoint",
        dest="breakpoints",
        action="append",
        type=breakpoint_place,
        metavar="WHERE",
        default=[],
        help="on-failure, before=ACTION or after=ACTION; may be repeated (see `tinkbox breakpoint`)",
    )
    add_confirmation(create)
    add_listing(add_verb(verbs, "list", "workflow:show_list", "every workflow"))
    add_listing(add_verb(verbs, "get", "workflow:get", "a workflow's rendered template, or the list"), keys="*")
    state = add_listing(add_verb(verbs, "state", "workflow:state", "where a workflow stands"))
    state.add_argument("key", metavar="WORKFLOW")
    add_listing(add_verb(verbs, "events", "workflow:events", "what happened to a workflow"), keys="+")
    data = add_listing(add_keys(add_verb(verbs, "data", "data:data", "a workflow's ephemeral data")))
    data.add_argument("-v", "--version", type=int, default=0, dest="data_version", metavar="N", help="0: the newest")
    what = data.add_mutually_exclusive_group()
    what.add_argument("-m", "--metadata", action="store_true", help="about the data")
    what.add_argument("-l", "--latest", action="store_true", help="the newest version's number")
    what.add_argument("--latest version", action="store_true", dest="latest", help=argparse.SUPPRESS)  # as 2020 had it
    what.add_argument("--list", action="store_true", help="the files of every version that is kept")
    what.add_argument("--save", type=Path, metavar="DIR", help="write the files below DIR, which is new or empty")
    logs = add_verb(verbs, "logs", "logs:logs", "what a workflow's actions printed")
    logs.add_argument("key", metavar="WORKFLOW")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the workflow is over")
    watch = add_verb(verbs, "watch", "workflow:watch", "follow a workflow; exit status 0 only when it succeeds")
    watch.add_argument("key", metavar="WORKFLOW")
    add_keys(add_verb(verbs, "cancel", "workflow:cancel", "stop workflows that are not over"))
    retry = add_keys(add_verb(verbs, "retry", "workflow:retry", "take failed workflows up again"))
    retry.add_argument(
        "--from", dest="first", metavar="ACTION", help="ACTION or TASK/ACTION, the failed one or an earlier one"
    )
    add_confirmation(retry)
    add_keys(add_verb(verbs, "delete", "workflow:delete", "forget workflows that do not run"))


def _image(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    load = add_verb(verbs, "load", "image:load", "take over an archive that `docker save` made")
    load.add_argument("files", metavar="FILE", nargs="+", type=Path)
    add_listing(add_verb(verbs, "list", "image:show_list", "every image"))
    add_keys(add_verb(verbs, "delete", "image:delete", "forget images"))


def _osie(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    build = add_verb(verbs, "build", "osie:build", "make kernel and ramdisk from Debian packages")
    build.add_argument("--output", type=Path, metavar="DIR", help="default: osie/ in the data directory")
    build.add_argument("--cache", type=Path, metavar="DIR", help="where downloaded packages are kept")
    build.add_argument("--executable", type=Path, metavar="FILE", help="the worker inside; default: this program")
    build.add_argument("--architecture", default="x86_64", metavar="NAME", help="x86_64 (default) or aarch64")
    add_listing(add_verb(verbs, "list", "osie:show_list", "what was built"))
