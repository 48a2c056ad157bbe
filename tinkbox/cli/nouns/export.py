"""`tinkbox export`: what there is as files that `tinkbox apply` takes."""

import argparse
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import add_format, add_selector, carry_out
from tinkbox.cli.output.formats import Document, json_of, show_notes
from tinkbox.cli.output.printable import clean
from tinkbox.model.applying import MAX_DOCUMENT
from tinkbox.model.documents.kept_documents import KeptKind
from tinkbox.model.errors import NotFound, Refusal
from tinkbox.model.text import counted

FORMATS: Final = ("yaml", "json")
_WITHOUT_A_WORD: Final = ("hardware", "template", *KeptKind)
KINDS: Final = (*_WITHOUT_A_WORD, "workflow")
_SOUGHT: Final = {"hardware": "machine", "template": "template", "workflow": "workflow that is not over"}
STORY: Final = """\
Write machines, templates, rule sets and their like as the documents that
`tinkbox apply` takes: in a stable order, without ids, so that a Git repository
can hold them.
What machines are told stands in them, passwords too."""


def declare(noun: argparse.ArgumentParser) -> None:
    noun.description = STORY
    noun.add_argument(
        "what",
        nargs="*",
        metavar="KIND[/NAME]",
        help="hardware, template, workflow, workflowruleset, policy, task, configmap, machine.bmc, job.bmc, task.bmc; or one of them: "
        "hardware/node7 (default: all but workflows)",
    )
    add_selector(noun, "with these labels only: rack=r1,gpu!=no")
    noun.add_argument(
        "--workflows",
        action="store_true",
        help="workflows that are not over as well: applying them elsewhere runs them",
    )
    noun.add_argument(
        "--dir",
        dest="folder",
        type=Path,
        metavar="DIR",
        help="a file for each, such as DIR/hardware/node7.yaml, instead of printing; removes no file, and names the others there",
    )
    add_format(noun, FORMATS, "yaml (default), or json: one list")
    carry_out(noun, export)


def export(chosen: argparse.Namespace) -> int:
    """1 where something that was named is in no document."""
    what = [*chosen.what, *(["workflow"] if chosen.workflows else [])]
    if chosen.workflows and not chosen.what:
        what = list(KINDS)
    answer = ask(chosen, lambda operator: operator.files.export(what, chosen.selector or ""))
    if chosen.selector and not any(answer.get(each) for each in ("items", "left_out", "notes")):
        raise NotFound(_nothing_selected(what, chosen.selector))
    show_notes(answer)
    as_json, status = chosen.format == "json", 1 if answer.get("absent") else 0
    if chosen.folder is not None:
        _save(chosen.folder, answer, [] if chosen.selector else _whole_kinds(what), as_json=as_json)
        return status
    written = _written([each["manifest"] for each in answer["items"]], as_json=as_json)
    print(written, end="")
    if as_json and len(written) > MAX_DOCUMENT:
        sys.stdout.flush()
        print(
            f"tinkbox: `tinkbox apply` takes no list of JSON with more than {MAX_DOCUMENT >> 20} MiB: leave -o json out, write "
            "a file for each with --dir, or take the list apart: jq -c '.items[]'",
            file=sys.stderr,
        )
    return status


def _whole_kinds(what: list[str]) -> list[str]:
    """The kinds of which all documents are asked for; without a word these are all but workflows."""
    return [_kind(each) for each in what or _WITHOUT_A_WORD if "/" not in each]


def _kind(word: str) -> str:
    first, dot, rest = word.partition("/")[0].lower().removesuffix(".tinkerbell.org").partition(".")
    return f"{'policy' if first == 'policies' else first.removesuffix('s')}{dot}{rest}"


def _nothing_selected(what: list[str], selector: str) -> str:
    kinds = dict.fromkeys(map(_kind, what or ("hardware", "template")))
    sought = f"no {' or '.join(_SOUGHT.get(each, each) for each in kinds)}"
    if len(_whole_kinds(what)) < len(what):
        sought = "none of what is named"
    lists = " and ".join(f"`tinkbox {f'{each} list' if each in _SOUGHT else f'export {each}'}`" for each in kinds)
    return f"{sought} has the labels {selector}: {lists} {'shows' if len(kinds) == 1 else 'show'} which have any"


def _written(manifests: list[Document], *, as_json: bool) -> str:
    from tinkbox.cli.output.manifests import yaml_documents

    return json_of({"apiVersion": "v1", "kind": "List", "items": manifests}) if as_json else yaml_documents(manifests)


def _save(folder: Path, answer: Document, whole: Iterable[str], *, as_json: bool) -> None:
    """Of kinds that are written as a `whole`, say which other files there are: nothing here is removed."""
    from tinkbox.cli.document_folders import SUFFIXES
    from tinkbox.cli.output.manifests import yaml_document
    from tinkbox.cli.output.tended_folder import TendedFolder

    suffix, outdated = ".json" if as_json else ".yaml", {}
    with TendedFolder(folder) as tended:
        for each in answer["items"]:
            manifest = each["manifest"]
            text = json_of(manifest) if as_json else yaml_document(manifest)
            apart = _apart(each["kind"], manifest)
            path, changed = tended.write(each["kind"], each["name"], apart, suffix, text)
            print(clean(f"{path} {'written' if changed else 'unchanged'}"))
        for each in answer.get("left_out", ()):
            there = tended.know(each["kind"], each["name"], _apart(each["kind"], each["manifest"]), SUFFIXES)
            if paths := [path for path in there if not _says_retirement(path, each["manifest"])]:
                outdated[f"{each['kind']}/{each.get('key') or each['name']}"] = paths
        others = [path for kind in dict.fromkeys(whole) for path in tended.others(kind, SUFFIXES)]
    sys.stdout.flush()
    if others:
        told = (
            f"tinkbox: {counted(len(others), 'other file')} in {folder}, which this export did not write: "
            f"{', '.join(map(str, others))}. Delete those of what was renamed or deleted, for `tinkbox apply` reads them too"
        )
        print(clean(told), file=sys.stderr)
    if outdated:
        _tell_outdated(folder, outdated, suffix)
    _tell_folders(folder, {each["kind"] for each in answer["items"]})


def _says_retirement(path: Path, manifest: Document) -> bool:
    """Whether a file says of a machine what its document says: that it is out of service, and why."""
    from tinkbox.cli.document_folders import read_sources
    from tinkbox.model.declaration import declared_retirement
    from tinkbox.yaml_nodes import NodeReader, compose

    try:
        texts = read_sources([str(path)], recursive=False).texts.values()
        documents = [NodeReader().plain(each, "") for text in texts for each in compose(text)]
        said = [declared_retirement(each) for each in documents if isinstance(each, dict)]
    except Refusal:
        return False
    return declared_retirement(manifest) in said


def _tell_outdated(folder: Path, outdated: Mapping[str, Sequence[Path]], suffix: str) -> None:
    """Say which files do not have that their machines are out of service, by the words to export these, and how they get it."""
    paths = [path for each in outdated.values() for path in each]
    beside = [path for path in paths if path.suffix != suffix]
    form = " -o json" if suffix == ".json" else ""
    words = " ".join(map(shlex.quote, outdated))
    told = (
        f"tinkbox: {counted(len(paths), 'file')} in {folder} of machines out of service that "
        f"{'does' if len(paths) == 1 else 'do'} not say so, or not why: {', '.join(map(str, paths))}. `tinkbox export "
        f"--dir {shlex.quote(str(folder))}{form} {words}` writes it there"
    )
    if beside:
        told += f"; then delete {', '.join(map(str, beside))}, for `tinkbox apply` refuses what is declared twice"
    print(clean(told), file=sys.stderr)


def _tell_folders(folder: Path, kinds: Collection[str]) -> None:
    """Say which folders have documents too that no export writes: with -R they are read beside those of these kinds."""
    from tinkbox.cli.document_folders import folders_within, named_paths

    ours, written = [folder / each for each in KINDS], [folder / each for each in KINDS if each in kinds]
    beside = [each for one in (folder, *ours) for each in folders_within(str(one)) if each not in ours]
    if not beside or not written:
        return
    sources = " ".join(f"-f {shlex.quote(str(each))}" for each in written)
    told = (
        f"tinkbox: there are documents in {named_paths(beside)} too, maybe of the same things. `tinkbox apply -R -f "
        f"{shlex.quote(str(folder))}` reads them as well and refuses what is declared twice: then move them away, or leave them "
        f"out with `tinkbox apply {sources}`"
    )
    print(clean(told), file=sys.stderr)


def _apart(kind: str, manifest: Document) -> str:
    """What tells a document from others of its kind and name: its namespace, where that is not the usual one, or its id."""
    from tinkbox.model.documents.hardware import ID_ANNOTATION

    metadata = manifest.get("metadata") or {}
    if kind == "hardware":
        is_object = manifest.get("kind") == "Hardware"
        kept = (metadata.get("annotations") or {}).get(ID_ANNOTATION) if is_object else manifest.get("id")
        if kept:
            return f"id:{kept}"
    return str(metadata.get("namespace") or "")
