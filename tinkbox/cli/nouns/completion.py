"""`tinkbox completion`: scripts that have a shell complete the command line, and the names that they ask for."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import add_verb, add_verbs, carry_out
from tinkbox.model.key_kinds import KeyKind, SuggestedName

STORY = """\
Print a script that has your shell complete commands, flags, files and names of machines, templates, workflows and images.

Where `tinkbox init` put the program on this host, it put the scripts too. Elsewhere, write one line into a file of yours.
"""
LINES = """\
the line, and the file:
  eval "$(tinkbox completion bash)"     ~/.bashrc
  eval "$(tinkbox completion zsh)"      ~/.zshrc, below the line with compinit
  tinkbox completion fish | source      ~/.config/fish/config.fish

A shell starts quicker that finds the script in a file, and reads it at the first Tab; write it anew after an upgrade:
  tinkbox completion bash >~/.local/share/bash-completion/completions/tinkbox    (with the package bash-completion)
  tinkbox completion zsh >/usr/local/share/zsh/site-functions/_tinkbox
  tinkbox completion fish >~/.config/fish/completions/tinkbox.fish
"""
EXPORTED_KINDS: Final = {"hardware": KeyKind.MACHINE, "template": KeyKind.TEMPLATE, "workflow": KeyKind.WORKFLOW}
SECONDS: Final = 1.0  # a person who has pressed Tab waits this long


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun, STORY, LINES)
    for shell, run in {"bash": bash, "zsh": zsh, "fish": fish}.items():
        add_verb(verbs, shell, run, f"the script for {shell}")
    # Without a help it is in no list: the scripts ask it.
    verb = carry_out(verbs.add_parser("names", allow_abbrev=False), names)
    verb.add_argument("kind", metavar="KIND")
    verb.add_argument("prefix", metavar="PREFIX")


def bash(chosen: argparse.Namespace) -> None:
    from tinkbox.cli.reference import bash, declarations

    print(bash.script(declarations.declared(chosen.whole())), end="")


def zsh(chosen: argparse.Namespace) -> None:
    from tinkbox.cli.reference import declarations, zsh

    print(zsh.script(declarations.declared(chosen.whole())), end="")


def fish(chosen: argparse.Namespace) -> None:
    from tinkbox.cli.reference import declarations, fish

    print(fish.script(declarations.declared(chosen.whole())), end="")


def names(chosen: argparse.Namespace) -> None:
    """A line for each name that begins so, with a tab and what tells it apart; none where there is no answer in time."""
    from tinkbox.cli.output.printable import clean

    for each in in_time(lambda: found(chosen)):
        if is_typable(each.name):
            print(f"{each.name}\t{clean(each.about)}")


def in_time(question: Callable[[], Sequence[SuggestedName]]) -> Sequence[SuggestedName]:
    """What a question is answered with within `SECONDS`; nothing where it fails, or takes longer."""
    from threading import Thread

    answers: list[Sequence[SuggestedName]] = []

    def answered() -> None:
        with suppress(Exception):  # nothing is said below a command line that is being typed
            answers.append(question())

    # A daemon: a host whose name is looked up for long holds up no end of the program.
    thread = Thread(target=answered, daemon=True)
    thread.start()
    thread.join(SECONDS)
    return answers[0] if answers else ()


def found(chosen: argparse.Namespace) -> Sequence[SuggestedName]:
    from tinkbox.cli.reference.suggestions import BUILT_IN, CATALOGUED, EXPORTED

    if chosen.kind == CATALOGUED:
        return catalogued(chosen.prefix)
    if chosen.kind == BUILT_IN:
        return built_in(chosen)
    if chosen.kind == EXPORTED:
        return exported(chosen)
    kind = KeyKind(chosen.kind)
    return ask(chosen, lambda operator: operator.names.beginning(kind, chosen.prefix))


def exported(chosen: argparse.Namespace) -> Sequence[SuggestedName]:
    """The kinds of documents that can be exported, and behind `KIND/` the names of that kind."""
    word, slash, prefix = chosen.prefix.partition("/")
    if not slash:
        return [SuggestedName(each) for each in EXPORTED_KINDS if each.startswith(word)]
    names = ask(chosen, lambda operator: operator.names.beginning(EXPORTED_KINDS[word], prefix))
    return [SuggestedName(f"{word}/{each.name}", each.about) for each in names]


def built_in(chosen: argparse.Namespace) -> Sequence[SuggestedName]:
    """The templates of the program of the appliance."""
    found = ask(chosen, lambda operator: operator.templates.catalogue())
    return [SuggestedName(each["name"], each["about"]) for each in found if each["name"].startswith(chosen.prefix)]


def catalogued(prefix: str) -> Sequence[SuggestedName]:
    """The entries of the catalogue that come with the program or were installed since."""
    from tinkbox.catalogue.layers import load
    from tinkbox.cli.nouns.image.fetch import catalogue_folders

    entries = load(catalogue_folders(), ()).entries.values()
    return [SuggestedName(each.id, each.title) for each in entries if each.id.startswith(prefix)]


def is_typable(name: str) -> bool:
    """Whether a name can be typed in any shell as it is: no quotes, blanks, `$` or the like."""
    return name[:1] != "-" and all(letter.isalnum() or letter in "._:/@+-" for letter in name)
