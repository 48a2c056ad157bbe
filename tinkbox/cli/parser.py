"""Nouns, verbs and flags: 2020's `tink`, and what tinkbox adds."""

import argparse
from collections.abc import Sequence
from pathlib import Path

DESCRIPTION = "Takes machines from bare metal to installed system."
FORMATS = ("table", "json", "csv", "yaml")
Verbs = argparse._SubParsersAction  # noqa: SLF001  argparse gives its return type no public name


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The chosen command: `run` names its function as `module:function` below `tinkbox.cli`.

    Exits with status 2 when the command line is wrong.
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
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
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND")
    _serve(nouns)
    _hardware(_noun(nouns, "hardware", "the machines"))
    _template(_noun(nouns, "template", "what can be done with machines"))
    _workflow(_noun(nouns, "workflow", "what is done with machines"))
    _image(_noun(nouns, "image", "the images that actions run from"))
    _osie(_noun(nouns, "osie", "the in-memory operating system"))
    events = _noun(nouns, "events", "what happens")
    watch = _verb(events, "watch", "events:watch", "print every event as it happens")
    watch.add_argument("--after", type=int, metavar="N", help="first those behind the one whose `sequence` is N")
    _verb(nouns, "status", "status:show", "the appliance at a glance, live in a terminal")
    _verb(nouns, "version", "about:show_version", "the program's version")
    return parser


def _serve(nouns: "Verbs[argparse.ArgumentParser]") -> None:
    serve = _verb(nouns, "serve", "serve:serve", "run the appliance")
    serve.add_argument("--config", type=Path, metavar="FILE", help="default: /etc/tinkbox/tinkbox.yaml when it exists")
    serve.add_argument("--data", type=Path, metavar="DIR", default=argparse.SUPPRESS, help="beats the configuration")
    serve.add_argument("--check", action="store_true", help="look at everything, say what is wrong, and end")


def _hardware(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    push = _verb(verbs, "push", "hardware:push", "store a machine's hardware document, or replace it")
    push.add_argument("--file", type=Path, metavar="F", help="JSON, or kind: Hardware; without it, standard input")
    _listing(_verb(verbs, "list", "hardware:show_list", "one line per interface"))
    _listing(_verb(verbs, "get", "hardware:get", "one machine's document, or the list"), keys="*")
    _keys(_verb(verbs, "id", "hardware:by_id", "documents by id"))
    for name in ("mac", "ip"):
        by_address = _keys(_verb(verbs, name, f"hardware:by_{name}", f"machines by {name.upper()} address"))
        by_address.add_argument("-d", "--details", action="store_true", help="the whole document")
    _keys(_verb(verbs, "delete", "hardware:delete", "forget machines"))
    _keys(_verb(verbs, "watch", "hardware:watch", "print a document whenever it changes"))
    credential = _verb(verbs, "credential", "hardware:credential", "what makes a worker this machine's")
    credential.add_argument("key", metavar="MAC")


def _template(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    create = _verb(verbs, "create", "template:create", "store a template")
    create.add_argument("-n", "--name", help="letters, digits, dot, dash and underscore; a kind: Template has its own")
    _text_source(create)
    _listing(_verb(verbs, "list", "template:show_list", "every template"))
    _listing(_verb(verbs, "get", "template:get", "a template's text, or the list"), keys="*")
    update = _verb(verbs, "update", "template:update", "change a template; existing workflows stay as they are")
    update.add_argument("key", metavar="TEMPLATE")
    update.add_argument("-n", "--name")
    _text_source(update)
    _keys(_verb(verbs, "delete", "template:delete", "forget templates"))
    validate = _verb(verbs, "validate", "template:validate", "say what is wrong with a template, for every machine")
    validate.add_argument("source", nargs="?", metavar="FILE|KEY", help="a file, or a stored template")
    validate.add_argument("-r", "--hardware", metavar="JSON", help="for these devices only")
    _text_source(validate)


def _workflow(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    create = _verb(verbs, "create", "workflow:create", "bind a template to machines")
    create.add_argument("-t", "--template", metavar="TEMPLATE")
    create.add_argument("-r", "--hardware", metavar="JSON", help='{"device_1": "08:00:27:00:00:01"}')
    create.add_argument("--file", type=Path, metavar="F", help="instead of -t and -r, documents of kind: Workflow")
    _listing(_verb(verbs, "list", "workflow:show_list", "every workflow"))
    _listing(_verb(verbs, "get", "workflow:get", "a workflow's rendered template, or the list"), keys="*")
    state = _listing(_verb(verbs, "state", "workflow:state", "where a workflow stands"))
    state.add_argument("key", metavar="WORKFLOW")
    _listing(_verb(verbs, "events", "workflow:events", "what happened to a workflow"), keys="+")
    data = _listing(_keys(_verb(verbs, "data", "data:data", "a workflow's ephemeral data")))
    data.add_argument("-v", "--version", type=int, default=0, dest="data_version", metavar="N", help="0: the newest")
    what = data.add_mutually_exclusive_group()
    what.add_argument("-m", "--metadata", action="store_true", help="about the data")
    what.add_argument("-l", "--latest", action="store_true", help="the newest version's number")
    what.add_argument("--latest version", action="store_true", dest="latest", help=argparse.SUPPRESS)  # as 2020 had it
    what.add_argument("--list", action="store_true", help="the files of every version that is kept")
    what.add_argument("--save", type=Path, metavar="DIR", help="write the files below DIR, which is new or empty")
    logs = _verb(verbs, "logs", "logs:logs", "what a workflow's actions printed")
    logs.add_argument("key", metavar="WORKFLOW")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the workflow is over")
    watch = _verb(verbs, "watch", "workflow:watch", "follow a workflow; exit status 0 only when it succeeds")
    watch.add_argument("key", metavar="WORKFLOW")
    _keys(_verb(verbs, "cancel", "workflow:cancel", "stop workflows that are not over"))
    retry = _keys(_verb(verbs, "retry", "workflow:retry", "take failed workflows up again"))
    retry.add_argument(
        "--from", dest="first", metavar="ACTION", help="ACTION or TASK/ACTION, the failed one or an earlier one"
    )
    _keys(_verb(verbs, "delete", "workflow:delete", "forget workflows that do not run"))


def _image(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    load = _verb(verbs, "load", "image:load", "take over an archive that `docker save` made")
    load.add_argument("files", metavar="FILE", nargs="+", type=Path)
    _listing(_verb(verbs, "list", "image:show_list", "every image"))
    _keys(_verb(verbs, "delete", "image:delete", "forget images"))


def _osie(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    build = _verb(verbs, "build", "osie:build", "make kernel and ramdisk from Debian packages")
    build.add_argument("--output", type=Path, metavar="DIR", help="default: osie/ in the data directory")
    build.add_argument("--cache", type=Path, metavar="DIR", help="where downloaded packages are kept")
    build.add_argument("--executable", type=Path, metavar="FILE", help="the worker inside; default: this program")
    _listing(_verb(verbs, "list", "osie:show_list", "what was built"))


def _noun(nouns: "Verbs[argparse.ArgumentParser]", name: str, about: str) -> "Verbs[argparse.ArgumentParser]":
    noun = nouns.add_parser(name, help=about, description=about, allow_abbrev=False)
    return noun.add_subparsers(title="verbs", metavar="VERB", required=True)


def _verb(verbs: "Verbs[argparse.ArgumentParser]", name: str, run: str, about: str) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=about, description=about, allow_abbrev=False)
    verb.set_defaults(run=run)
    return verb


def _keys(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("keys", nargs="+", metavar="KEY", help="an id, a unique beginning of one, or a name")
    return verb


def _listing(verb: argparse.ArgumentParser, keys: str = "") -> argparse.ArgumentParser:
    if keys:
        verb.add_argument("keys", nargs=keys, metavar="KEY", help="an id, a unique beginning of one, or a name")
    verb.add_argument("--format", choices=FORMATS, default="table")
    verb.add_argument("--no-headers", action="store_true")
    verb.add_argument("-q", "--quiet", action="store_true", help="ids only")
    return verb


def _text_source(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--file", "-p", "--path", type=Path, metavar="F", help="without it, standard input")
