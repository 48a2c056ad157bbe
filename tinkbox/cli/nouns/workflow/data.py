"""`tinkbox workflow data`."""

import argparse
import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_listing, add_shown_keys, add_verb
from tinkbox.cli.output.changes import show_each
from tinkbox.cli.output.formats import TABLES, Column, Document, json_of, names_one, short, show, yaml_of
from tinkbox.cli.output.printable import clean, moment
from tinkbox.model.documents.json_text import read_document
from tinkbox.model.errors import Invalid
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.text import counted

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def _kind(file: Document) -> str:
    if "link" in file:
        return f"link to {file['link']}"
    if "error" in file:
        return str(file["error"])
    if "mode" not in file:
        return ""
    return "file" if "size" in file else "folder"


VERSIONS: Sequence[Column] = (
    Column("Version", "version"),
    Column("Name", "path"),
    Column("Size", lambda file: file.get("size", "")),
    Column("Kind", _kind),
    Column("Updated At", "at", moment),
)
# Before them, where they are those of several workflows.
WORKFLOW: Sequence[Column] = (Column("Workflow", "workflow", short), Column("Workflow", "workflow", wide=True))


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "data", data, "a workflow's ephemeral data")
    add_listing(add_shown_keys(verb, "+", KeyKind.WORKFLOW, by_labels=False))
    verb.add_argument("-v", "--version", type=int, default=0, dest="data_version", metavar="N", help="0: the newest")
    what = verb.add_mutually_exclusive_group()
    what.add_argument("-m", "--metadata", action="store_true", help="about the data")
    what.add_argument("-l", "--latest", action="store_true", help="the newest version's number")
    what.add_argument("--latest version", action="store_true", dest="latest", help=argparse.SUPPRESS)  # as 2020 had it
    what.add_argument("--list", action="store_true", help="the files of every version that is kept")
    what.add_argument("--save", type=Path, metavar="DIR", help="write the files below DIR, which is new or empty")


def data(chosen: argparse.Namespace) -> int:
    """Print, list or save a workflow's ephemeral data; 1 when a file could not be saved, or a key was refused."""
    if chosen.save is not None:
        return _save(chosen)
    if not chosen.list:
        return show_each(
            chosen,
            lambda operator, key: operator.workflows.data(key, chosen.data_version),
            lambda versions: _show_data(chosen, versions),
        )

    async def versions(operator: "Operator", key: str) -> tuple[str, Sequence[Document]]:
        workflow_id = key if names_one(chosen) else (await operator.workflows.get(key))["id"]
        return workflow_id, await operator.workflows.data_versions(workflow_id)

    return show_each(chosen, versions, lambda found: _show_versions(chosen, found))


def _show_data(chosen: argparse.Namespace, versions: Sequence[Document]) -> None:
    if chosen.format in ("json", "yaml") and not chosen.latest and not names_one(chosen):
        documents = [_metadata(found) if chosen.metadata else _document(found) for found in versions]
        print((json_of if chosen.format == "json" else yaml_of)(documents), end="")
        return
    for found in versions:
        if chosen.latest:
            print("Latest workflow data version:", found["version"])
        elif chosen.metadata:
            print(json.dumps(_metadata(found)))
        else:
            _print_data(found)


def _metadata(found: Document) -> Document:
    """In the words of 2020, and what there is beyond them.

    The digest is that of the file `data`, which was all that there was in 2020; without one it is that of the whole version.
    """
    if not found["version"]:
        return {}
    digests = {each["path"]: each["sha256"] for each in found["files"] if "sha256" in each}
    return {
        "worker-id": found["worker"],
        "action-name": found["action"],
        "task-name": found["task"],
        "updated-at": found["at"],
        "sha256": digests.get("data", found["sha256"]),
        "version": found["version"],
        "size": found["size"],
        "files": [{name: value for name, value in file.items() if name != "content"} for file in found["files"]],
    }


def _content(found: Document) -> bytes:
    files = {each["path"]: each for each in found["files"]}
    return base64.b64decode(files["data"]["content"]) if "content" in files.get("data", {}) else b"{}"


def _document(found: Document) -> object:
    """The data as a document; what is none is the text of it."""
    content = _content(found)
    try:
        return read_document(content)
    except ValueError:
        return content.decode(errors="replace")


def _print_data(found: Document) -> None:
    content = _content(found)
    sys.stdout.buffer.write(content if content.endswith(b"\n") else content + b"\n")
    for each in found["files"]:
        name = each["path"]
        if name != "data" and "size" in each:
            print(f"tinkbox: there is also {clean(name)}, {each['size']} bytes (--save DIR saves it)", file=sys.stderr)


def _show_versions(chosen: argparse.Namespace, found: Sequence[tuple[str, Sequence[Document]]]) -> None:
    """The versions of each workflow, of several with its id."""
    several = not names_one(chosen)
    wanted = [
        {"workflow": workflow_id, **each} if several else each
        for workflow_id, versions in found
        for each in versions
        if chosen.data_version in (0, each["version"])
    ]
    columns = [*WORKFLOW, *VERSIONS] if several else VERSIONS
    if not chosen.quiet and chosen.format in (*TABLES, "csv"):
        lines = [
            {**{name: each[name] for name in ("workflow", "version", "at") if name in each}, **file}
            for each in wanted
            for file in each["files"] or [_nothing(each)]
        ]
        show(chosen, lines, columns)
    else:
        show(chosen, wanted, columns, key=_version if several else "version")


def _version(version: Document) -> str:
    """A version among those of several workflows."""
    return f"{version['workflow']}/{version['version']}"


def _nothing(version: Document) -> Document:
    return {"path": "(no files)" if version["kept"] else "(no longer kept)"}


def _save(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.output.saved_files import save
    from tinkbox.wire.ephemeral_data import Entry

    if len(chosen.keys) != 1:
        raise Invalid("--save takes the data of one workflow at a time")
    found = ask(chosen, lambda operator: operator.workflows.data(chosen.keys[0], chosen.data_version))
    broken = [file["error"] for file in found["files"] if "error" in file]
    if broken:
        raise Invalid(f"version {found['version']} of the data cannot be read: {broken[0]}")
    entries = [
        Entry(
            path=file["path"],
            mode=file.get("mode", 0o777),
            content=base64.b64decode(file["content"]) if "content" in file else None,
            link=file.get("link"),
        )
        for file in found["files"]
    ]
    left_out = save(entries, chosen.save)
    for each in left_out:
        print(f"tinkbox: not saved: {clean(each)}", file=sys.stderr)
    print(f"Saved {counted(len(entries) - len(left_out), 'file')} of version {found['version']} to {chosen.save}")
    return 1 if left_out else 0
