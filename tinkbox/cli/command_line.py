"""The whole command line: the program's own flags, and the noun that is named (`nouns`)."""

import argparse
import re
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

from tinkbox.cli import read_process, render_process
from tinkbox.cli.exit_statuses import WRONG, help_text
from tinkbox.cli.flags import DOCUMENTS, FITTING, FORMATS, Once, folder
from tinkbox.cli.nouns import NOUNS, version, worker
from tinkbox.cli.output.printable import clean
from tinkbox.cli.typed_words import key_in, why_empty

DESCRIPTION = "Takes machines from bare metal to installed system."
DATA = f"the data directory of an appliance on this host; with --worker, the worker's folder (default {worker.FOLDER})"
_MAKES_A_ROLLOUT: Final = "`tinkbox workflow create -t TEMPLATE MACHINE MACHINE…` makes a rollout"
_APPLIES: Final = "`tinkbox apply -f FILE` applies files"
# By the command that lacks it: a verb that is typed, and what is meant.
INSTEAD: Final = {
    "tinkbox": {
        "diff": "`tinkbox apply --diff -f FILE` shows what would change",
        "wait": "`tinkbox workflow create --wait` waits for the end, and `tinkbox workflow watch WORKFLOW` follows what runs",
    },
    "tinkbox hardware": {"apply": _APPLIES, "create": "`tinkbox hardware add MAC` registers a machine"},
    "tinkbox template": {
        "apply": f"{_APPLIES}, and `tinkbox template update` changes one",
        "edit": f"`tinkbox template update` changes one, and {_APPLIES}",
    },
    "tinkbox workflow": {"apply": _APPLIES},
    "tinkbox rollout": {"create": _MAKES_A_ROLLOUT, "run": _MAKES_A_ROLLOUT},
}
# Words of kubectl, docker and gh for a verb, and ours for it: the first that a noun has is meant.
SYNONYMS: Final[Mapping[str, Sequence[str]]] = {
    "ls": ("list",),
    "ps": ("list",),
    "show": ("get",),
    "view": ("get",),
    "describe": ("get", "show"),
    "inspect": ("get", "show"),
    "status": ("state", "get"),
    "rm": ("delete",),
    "remove": ("delete",),
    "stop": ("cancel",),
    "kill": ("cancel",),
    "restart": ("retry",),
    "unpause": ("resume",),
    "unretire": ("return",),
    "wait": ("watch",),
    "run": ("create",),
    "exec": ("shell",),
    "pull": ("fetch",),
    "tail": ("logs",),
}
# kubectl has the verb before the noun: nouns that have it, the likeliest first.
_VERB_FIRST: Final = ("hardware", "workflow", "template", "rollout", "breakpoint", "image")
_MACHINES: Final = ("machine", "machines", "node", "nodes")  # what others call our hardware
_IGNORED: Final = re.compile(r"argument (\S+): ignored explicit argument '(.*)'")  # argparse's words
# kubectl's values of --dry-run: the appliance checks everything in any case.
_DRY_RUNS: Final = ("--dry-run=client", "--dry-run=server")
_NO_DRY_RUN: Final = "--dry-run=none"
# What answers a question beforehand, or lifts a guard, is named by a person alone: no misspelt word is one.
_UNPROPOSED: Final = frozenset({"--yes", "--force"})
# What destroys, ends or takes out of service is named for a real misspelling of it alone (`spelling.is_misspelt`).
_CAREFUL: Final = frozenset(
    {"abort", "cancel", "delete", "discard-history", "fail", "install", "refuse", "retire", "skip"}
)
# kubectl's formats that take out fields: they have a pattern behind a =.
_PATTERNS: Final = ("custom-columns", "go-template", "jsonpath", "template")
TINK = "tink"  # a link of this name to the program has it print as Tinkerbell's did in 2020


class Parser(argparse.ArgumentParser):
    """A parser whose errors show its own usage, and what a word was probably meant to be."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.of_worker: Collection[str] = ()
        for action in (None, "store"):
            self.register("action", action, Once)

    def error(self, message: str) -> NoReturn:
        message = _IGNORED.sub(r"\1 takes no value: leave =\2 out", message)
        self.print_usage(sys.stderr)
        self.exit(WRONG, f"tinkbox: {clean(message)}\nHelp: {self.prog} --help\n")

    def has(self, flag: str) -> bool:
        """Whether it takes a flag."""
        return flag in self._option_string_actions

    def has_value(self, flag: str) -> bool:
        """Whether it takes a flag, and behind it another word."""
        return self.has(flag) and self._option_string_actions[flag].nargs != 0

    def offers(self, flag: str, value: str) -> bool:
        """Whether a flag that it has takes this value, of those that it lists."""
        return value in (self._option_string_actions[flag].choices or ())

    @property
    def verbs(self) -> Sequence[str]:
        """What may be named next, of that which has a help."""
        actions = self._actions
        subparsers = [each for each in actions if isinstance(each, argparse._SubParsersAction)]  # noqa: SLF001  argparse gives it no public name
        return [each.dest for action in subparsers for each in action._choices_actions]  # noqa: SLF001

    @property
    def has_verbs(self) -> bool:
        """Whether the next word names another parser."""
        return self._subparsers is not None

    def under(self, name: str) -> "Parser | None":
        """The parser of what is named next."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  argparse gives it no public name
                return action.choices.get(name)
        return None

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """What to say of words that mean nothing here."""
        from tinkbox.model.spelling import nearest

        flag = next((each for each in words if each.startswith("-")), None)
        if flag is None:
            self.error(f"{words[0]!r} is one word too many for `{self.prog}`")
        name = flag.partition("=")[0]
        known = [each for each in self._option_string_actions if each.startswith("--") and each not in _UNPROPOSED]
        # Without the dashes, which all of them have in common.
        near = nearest(name.removeprefix("--"), [each.removeprefix("--") for each in known])
        if name == "--selector" and self._selects():
            near = "label"
        hint = f": did you mean --{near}?" if near else ": flags of a verb stand behind it" if self.has_verbs else ""
        if name == "--data":
            hint = f": it stands before the command, `tinkbox --data DIR {self.prog.partition(' ')[2]}`"
        if self._takes_documents() and (name == "--namespace" or name.startswith("-n")):
            hint = ": a namespace stands in each document, `metadata: {namespace: NAME}`"
        self.error(f"unknown flag {name} of `{self.prog}`{hint}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        named = str(action.metavar)
        if why := why_empty(named, arg_string):
            raise argparse.ArgumentError(action, why)
        is_other = self.get_default("is_other")  # a word among keys that is none, such as the label hardware/rack=r1
        is_key = is_other is None or not is_other(arg_string)
        return super()._get_value(action, key_in(named, arg_string) if is_key else arg_string)

    def _selects(self) -> bool:
        """Whether its --label selects by labels, and sets none."""
        return self.has("--label") and self._option_string_actions["--label"].metavar == "SELECTOR"

    def _takes_documents(self) -> bool:
        return self.has("--strict")

    def _noun_first(self, verb: str) -> str:
        """What is meant by a verb where the name of a noun belongs; empty: nothing that is known."""
        if verb in _MACHINES:
            return "did you mean hardware?"
        for name in _VERB_FIRST:
            noun = command_line([name]).under(name)
            known = noun.verbs if noun is not None else ()
            if ours := verb if verb in known else _ours(verb, known):
                return f"the noun stands first, such as `{self.prog} {name} {ours}`"
        return ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        from tinkbox.model.spelling import meant

        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  argparse gives it no public name
            what = "command" if action.metavar == "COMMAND" else "verb"
            listed = self.verbs
            near = (
                INSTEAD.get(self.prog, {}).get(str(value))
                or (self._noun_first(str(value)) if what == "command" else "")
                or (f"did you mean {ours}?" if (ours := _ours(str(value), listed)) else "")
                or meant(str(value), listed, _CAREFUL)
            )
            raise argparse.ArgumentError(None, f"unknown {what} {value!r} of `{self.prog}`: {near}")
        near = meant(str(value), list(action.choices))
        if action.dest == "format" and "json" in action.choices and str(value).startswith(_PATTERNS):
            near = f"take fields out with `-o json | jq`; {meant('', list(action.choices))}"
        raise argparse.ArgumentError(action, f"unknown value {value!r}: {near}")


def _ours(verb: str, known: Collection[str]) -> str:
    """Our word for another program's, of those that are known; empty: there is none."""
    return next((each for each in SYNONYMS.get(verb, ()) if each in known), "")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The chosen command: `run` carries it out (`flags.carry_out`).

    Exits with status 2 when the command line is wrong.
    """
    own, command = command_apart(arguments)
    words = _help_last(_sorted_apart(_kubectls_words(own)))
    parser = command_line(words)
    _refuse_early_flags(parser, words)
    _refuse_flags_of_worker(parser, words)
    chosen, unknown = parser.parse_known_args(words)
    named: Parser = getattr(chosen, "parser", parser)
    if unknown:
        _refuse_beside_labels(named, chosen, unknown)
        named.refuse(unknown)
    if command and not hasattr(chosen, "command"):
        named.error(f"what follows -- is a command to run, and {' '.join(words)} runs none")
    if hasattr(chosen, "command"):
        chosen.command = command
    _choose_format(named, chosen)
    chosen.line = shlex.join(["tinkbox", *arguments])
    if chosen.worker:
        chosen.run = worker.work
    if chosen.read_image:
        chosen.run = read_process.read
    return chosen


def _refuse_beside_labels(named: Parser, chosen: argparse.Namespace, words: Sequence[str]) -> None:
    """Refuse keys on both sides of a -l that stands for keys as those on one side: argparse leaves the second ones over."""
    kind = getattr(chosen, "selects", None)
    if kind is None or chosen.label is None or any(each.startswith("-") for each in words):
        return
    for key in (each for each in (*chosen.keys, *words) if not chosen.is_other(each)):
        from tinkbox.cli.selection import named_and_selected

        named.error(named_and_selected(key, kind))


def _refuse_early_flags(parser: Parser, words: Sequence[str]) -> None:
    """Refuse a flag of a verb that stands before it, as kubectl has them: argparse would take its value for a command."""
    left, at = list(words), parser
    while at.has_verbs and left:
        word = left.pop(0)
        name, equals, _ = word.partition("=")
        if name.strip("-") == "":
            return
        if not name.startswith("-"):
            named = at.under(name)
            if named is None:
                return
            at = named
        elif not at.has(name):
            at.refuse([word])
        elif at.has_value(name) and not equals:
            left = left[1:]


def _refuse_flags_of_worker(parser: Parser, words: Sequence[str]) -> None:
    """Refuse --worker and its flags beside a command: a --server that is left aside would have another box changed."""
    left, values = list(words), dict[str, str]()
    while left and left[0].startswith("-"):
        name, equals, value = left.pop(0).partition("=")
        takes_next = parser.has_value(name) and not equals and left
        values[name] = left.pop(0) if takes_next else value
    given = [each for each in values if each in parser.of_worker]
    if not given or not left or not values.keys().isdisjoint(("-h", "--help")):
        return
    if "--worker" in given:
        parser.error(f"--worker takes no command: leave out --worker, or {left[0]}")
    way = "leave it out"
    if url := values.get(worker.SERVER):
        url = shlex.quote(url)
        given = [worker.SERVER]
        way = (
            f"`TINKBOX_SERVER={url} tinkbox {left[0]} …` has one command ask another box, and `tinkbox login {url}` all that "
            "follow"
        )
    parser.error(f"{given[0]} is a flag of --worker, and {left[0]} is a command: {way}")


def _help_last(words: Sequence[str]) -> Sequence[str]:
    """`help NOUN VERB` as `NOUN VERB --help`, also behind the program's own flags; so is `NOUN help VERB` where a noun has verbs."""
    if "help" not in words:
        return words
    parser, place = command_line(words), 0
    while words[place:] and words[place].startswith("-"):
        place += 2 if parser.has_value(words[place]) else 1
    asked = list(words[place:])
    noun = next((each for each in asked if each != "help"), "")
    named = parser.under(noun)
    has_verbs = named is not None and named.has_verbs
    if asked[:1] != ["help"] and not (asked[1:2] == ["help"] and has_verbs):
        return words
    asked.remove("help")
    extra = asked[2 if has_verbs else 1 :]
    if noun in NOUNS and extra and not extra[0].startswith("-"):
        (parser.under("help") or parser).refuse(extra)
    return [*words[:place], *asked, "--help"]


def command_line(words: Sequence[str]) -> Parser:
    """A parser for these words: no other noun than those among them is declared, nor its module imported."""
    parser = Parser(
        prog="tinkbox",
        description=DESCRIPTION,
        epilog=help_text() if NOUNS.keys().isdisjoint(words) else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(whole=lambda: command_line(list(NOUNS)))  # for those who print what can be typed
    parser.set_defaults(run=lambda _: parser.print_help(), format="", quiet=False, utc=False)
    parser.add_argument(
        "--version",
        action="store_const",
        const=version.show_version,
        dest="run",
        help="the same as `tinkbox version`",
    )
    parser.add_argument("--data", type=folder, metavar="DIR", help=DATA)
    # What the appliance starts to render a template apart from itself.
    parser.add_argument(
        "--render", action="store_const", const=render_process.render, dest="run", help=argparse.SUPPRESS
    )
    # What takes a disk image apart, apart from what was started by a person.
    parser.add_argument("--read-image", metavar="KIND", help=argparse.SUPPRESS)
    parser.of_worker = worker.add_flags(parser)
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, about in NOUNS.items():
        noun = nouns.add_parser(
            name,
            help=about,
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name in words:
            import_module(f"tinkbox.cli.nouns.{name}").declare(noun)
    # `parse` makes --help of it.
    helped = nouns.add_parser("help", help="the help of a command: help [NOUN [VERB]]", allow_abbrev=False)
    helped.add_argument("noun", nargs="?", metavar="NOUN", choices=tuple(NOUNS), help="a command")
    helped.add_argument("verb", nargs="?", metavar="VERB", help="a verb of it")
    return parser


def command_apart(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments, and apart from them the command behind the first `--` of a verb of `breakpoint`.

    argparse would take the command's first word for one of the verb's own.
    """
    if "--" in arguments and "breakpoint" in arguments[: arguments.index("--")]:
        place = arguments.index("--")
        return arguments[:place], arguments[place + 1 :]
    return arguments, ()


def _kubectls_words(arguments: Sequence[str]) -> Sequence[str]:
    """The same with `--dry-run=client` and `=server` as the flag, and without `--dry-run=none`."""
    return ["--dry-run" if each in _DRY_RUNS else each for each in arguments if each != _NO_DRY_RUN]


def _sorted_apart(arguments: Sequence[str]) -> Sequence[str]:
    """The same with `--sort -FIELD` as one word: argparse would take the second for a flag."""
    words: list[str] = []
    for each in arguments:
        if words and words[-1] == "--sort" and each.startswith("-") and not each.startswith("--"):
            words[-1] = f"--sort={each}"
        else:
            words.append(each)
    return words


def _choose_format(parser: Parser, chosen: argparse.Namespace) -> None:
    """Set the `format` of what the command prints, and whether that is `as_2020` had it."""
    from tinkbox.settings import FORMAT, output_format

    default = output_format() or (TINK if Path(sys.argv[0]).name == TINK else FORMATS[0])
    if default not in FORMATS and parser.has("--output"):
        parser.error(f"{FORMAT} is {default[:40]!r}, which is no format; there are: {', '.join(FORMATS)}")
    if chosen.format == FITTING and default in DOCUMENTS and parser.offers("--output", default):
        chosen.format = default
    chosen.format = chosen.format or default
    # Programs read the words of their day in csv and json too.
    chosen.as_2020 = chosen.format == TINK or (default == TINK and chosen.format in ("csv", "json"))
