"""`tinkbox apply`: what there is becomes what files declare."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import (
    add_confirmation,
    add_format,
    add_require_images,
    add_selector,
    add_strict,
    add_yes,
    carry_out,
)
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.output.formats import Document, json_of, show_notes, yaml_of
from tinkbox.cli.output.printable import clean, clean_block
from tinkbox.cli.typed_words import key_for_scripts
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.errors import Invalid
from tinkbox.model.text import counted, so_many

FORMATS: Final = ("table", "json", "yaml", "name")
STORY: Final = """\
Have machines, templates and workflows become what files declare.

Applying the same files again changes nothing: what is there already is told
as unchanged, and a workflow of the same name is not run again, whatever
became of it.

Files hold Tinkerbell's kind: Hardware, Template and Workflow, hardware of
2020, or what is kept as it is, such as WorkflowRuleSet (`tinkbox document`).
Their order does not matter. Everything is checked before anything is
stored."""
EPILOG: Final = """\
Exit status: 0 done; 1 something was refused, or with --diff something differs.
`tinkbox export` writes what is there as such files; `apply -R -f DIR` reads those of
`export --dir DIR`."""
_BAD: Final = ("refused", "kept")
_NOT_THERE: Final = ("refused", "pruned")


def declare(noun: argparse.ArgumentParser) -> None:
    noun.description, noun.epilog = STORY, EPILOG
    noun.add_argument(
        "-f",
        "--filename",
        dest="sources",
        action="append",
        metavar="FILE|DIR|-",
        required=True,
        help="a file, standard input, or all *.yaml, *.yml and *.json of a folder; may be repeated",
    )
    noun.add_argument("-R", "--recursive", action="store_true", help="the folders within folders too")
    noun.add_argument("--dry-run", action="store_true", help="say what would be done; the appliance stores nothing")
    noun.add_argument(
        "--diff", action="store_true", help="show what would change, store nothing; exit status 1 if anything would"
    )
    noun.add_argument(
        "--prune",
        action="store_true",
        help="delete machines, templates and kept documents that -l selects and no file declares; asks before it does",
    )
    add_selector(noun, "what --prune may delete: rack=r1,gpu!=no")
    add_yes(noun)
    add_confirmation(noun)
    add_require_images(noun)
    add_strict(noun)
    add_format(noun, FORMATS, "a line for each thing (default); json, yaml; name: KIND/NAME of each but those refused")
    carry_out(noun, apply)


def apply(chosen: argparse.Namespace) -> int:
    """Returns the exit status."""
    from tinkbox.cli.document_folders import read_sources

    if chosen.prune is (chosen.selector is None):
        chosen.usage_error(
            "--prune and -l go together: -l says which machines and templates may be deleted, such as -l team=lab"
        )
    read = read_sources(chosen.sources, recursive=chosen.recursive)
    _tell_skipped(chosen, read.skipped)
    files = read.texts
    how: dict[str, Any] = {"confirm_wipe": True} if chosen.confirm_wipe else {}
    if chosen.require_images:
        how["require_images"] = True
    if chosen.strict:
        how["strict"] = True
    if chosen.prune:
        how["prune"] = chosen.selector
    if chosen.diff:
        return _show_differences(chosen, _applied(chosen, files, {**how, "dry_run": True, "diff": True}))
    if chosen.dry_run:
        return _show(chosen, _applied(chosen, files, {**how, "dry_run": True}))
    if chosen.prune and not chosen.yes:
        how["agreed"] = _agreed(chosen, _applied(chosen, files, {**how, "dry_run": True}))
    return _show(chosen, _applied(chosen, files, how))


def _tell_skipped(chosen: argparse.Namespace, folders: Sequence[Path]) -> None:
    """Say which folders were not read; raises Invalid where that would delete what they declare."""
    if not folders:
        return
    from tinkbox.cli.document_folders import named_paths

    named = named_paths(folders)
    if chosen.prune:
        raise Invalid(
            f"nothing was applied: there are documents in {named} too, and --prune would delete what only they declare: "
            "-R reads the folders within too"
        )
    print(clean(f"tinkbox: documents in {named} are not read: -R reads the folders within too"), file=sys.stderr)


def _applied(chosen: argparse.Namespace, files: Mapping[str, str], how: Mapping[str, Any]) -> Document:
    from tinkbox.cli.output.progress_line import while_it_works

    sent = f"{counted(len(files), 'file')} with {sum(map(len, files.values())) // 1000 + 1} kB"
    doing = "looking at" if how.get("dry_run") else "applying"
    with while_it_works(f"{doing} {sent}") as progress:
        return ask(chosen, lambda operator: operator.files.apply(files, progress, **how))


def _agreed(chosen: argparse.Namespace, rehearsed: Document) -> Mapping[str, str] | list[str]:
    """The `created_at` of what a person lets be pruned, by its id; raises Invalid where there is no person to ask, or none who agrees.

    Of an earlier appliance, which tells none, the ids alone.
    """
    from tinkbox.cli.terminal.questions import confirm

    pruned = [each for each in rehearsed["results"] if each["outcome"] == "pruned"]
    for each in pruned:
        which = "" if _key(each) == each["name"] else f" ({each['id']})"
        print(f"{_named(each)}{which} is in no file", file=sys.stderr)
    if pruned:
        confirm(chosen, f"Delete {'it' if len(pruned) == 1 else f'these {len(pruned)}'}", line=clean(chosen.line))
    made = {each["id"]: each["created_at"] for each in pruned if "created_at" in each}
    return made or [each["id"] for each in pruned]


def _show(chosen: argparse.Namespace, answer: Document) -> int:
    show_notes(answer)
    results: Sequence[Document] = answer["results"]
    suffix = " (dry run)" if answer["dry_run"] else ""
    titles = _titles(results)
    lines = "".join(f"{title} {each['outcome']}{suffix}\n" for title, each in zip(titles, results, strict=True))
    _print(chosen, results, lines)
    return _tell_refused(results)


def _key(result: Document) -> str:
    """What means it among those of its kind."""
    return str(result.get("key", result["name"])).removeprefix(f"{result['kind']}/")


def _keys(results: Sequence[Document]) -> list[str]:
    """What `export` and the commands of each kind take for those that are there: KIND/ID where a name means several, or cannot be passed on.

    Secrets are not among them: `export` takes none.
    """
    named = Counter(_named(each) for each in results)

    def key(result: Document) -> str:
        means, identity = _key(result), result["id"]
        return str(identity or means) if named[_named(result)] > 1 else key_for_scripts(means, identity)

    return [
        clean(f"{each['kind']}/{key(each)}")
        for each in results
        if each["outcome"] not in _NOT_THERE and each["kind"] != "secret"
    ]


def _show_differences(chosen: argparse.Namespace, answer: Document) -> int:
    show_notes(answer)
    changed = [each for each in answer["results"] if each["outcome"] not in ("unchanged", "kept")]
    lines = "".join(map(_difference, _titles(changed), changed))
    _print(chosen, changed, lines)
    return max(int(bool(changed)), _tell_refused(answer["results"]))


def _difference(title: str, result: Document) -> str:
    """What changes, or that the answer had no room for it, of which a note tells more."""
    from tinkbox.cli.output.manifests import difference

    if "new" not in result:
        return f"{title} {result['outcome']}: what changes is left out\n"
    return clean_block(difference(title, result["old"], result["new"]))


def _print(chosen: argparse.Namespace, results: Sequence[Document], lines: str) -> None:
    """Print results as documents or names, or these lines of them; to a reader that went away say what was not read."""
    printers: Mapping[str, Callable[[], str]] = {
        "json": partial(json_of, list(results)),
        "yaml": partial(yaml_of, list(results)),
        "name": lambda: "".join(f"{each}\n" for each in _keys(results)),
    }
    with told_how_far(lambda: "" if chosen.dry_run or chosen.diff else _how_many(results)):
        print(printers[chosen.format]() if chosen.format in printers else lines, end="", flush=True)


def _how_many(results: Sequence[Document]) -> str:
    """`3 of 5 were applied`, and why the others were not."""
    refused = [
        f"{title} {each['outcome']}: {each['why']}"
        for title, each in zip(_titles(results), results, strict=True)
        if each["outcome"] in _BAD
    ]
    done = len(results) - len(refused)
    return "; ".join([f"{so_many(done, len(results))} applied", *refused])


def _tell_refused(results: Sequence[Document]) -> int:
    told = zip(_titles(results), results, strict=True)
    refused = [(title, each) for title, each in told if each["outcome"] in _BAD]
    for title, each in refused:
        print(clean(f"tinkbox: {title} {each['outcome']}: {each['why']}"), file=sys.stderr)
    return 1 if refused else 0


def _titles(results: Sequence[Document]) -> list[str]:
    """What each is called: of those that have a kind and name in common, those of another namespace than the default one with it."""
    named = list(map(_named, results))
    often = Counter(named)

    def apart(result: Document) -> str:
        namespace = result.get("namespace", "")  # earlier appliances tell none
        return clean(f"@{namespace}") if namespace not in ("", DEFAULT_NAMESPACE) else ""

    return [f"{name}{apart(each) if often[name] > 1 else ''}" for name, each in zip(named, results, strict=True)]


def _named(result: Document) -> str:
    return clean(f"{result['kind']}/{result['name']}")
