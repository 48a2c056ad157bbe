"""`tinkbox workflow data`."""

import argparse
import base64
import json
import sys
from collections.abc import Sequence

from tinkbox.cli.appliance import ask, ask_each
from tinkbox.cli.output import Column, Document, clean, moment, show
from tinkbox.model.errors import Invalid

VERSIONS: Sequence[Column] = (
    ("Version", lambda file: file["version"]),
    ("Name", lambda file: file["path"]),
    ("Size", lambda file: file.get("size", "")),
    ("Kind", lambda file: _kind(file)),
    ("Updated At", lambda file: moment(file["at"])),
)


def data(chosen: argparse.Namespace) -> int:
    """Print, list or save a workflow's ephemeral data; 1 when a file could not be saved."""
    if chosen.save is not None:
        return _save(chosen)
    if chosen.list:
        _show_versions(chosen)
        return 0
    for found in ask_each(chosen, lambda operator, key: operator.workflows.data(key, chosen.data_version)):
        if chosen.latest:
            print("Latest workflow data version:", found["version"])
        elif chosen.metadata:
            print(json.dumps(_metadata(found)))
        else:
            _print_data(found)
    return 0


def _metadata(found: Document) -> Document:
    """In the words of 2020, and what there is beyond them."""
    if not found["version"]:
        return {}
    return {
        "worker-id": found["worker"],
        "action-name": found["action"],
        "task-name": found["task"],
        "updated-at": found["at"],
        "sha256": found["sha256"],
        "version": found["version"],
        "size": found["size"],
        "files": [{name: value for name, value in file.items() if name != "content"} for file in found["files"]],
    }


def _print_data(found: Document) -> None:
    files = {each["path"]: each for each in found["files"]}
    content = base64.b64decode(files["data"]["content"]) if "content" in files.get("data", {}) else b"{}"
    sys.stdout.buffer.write(content if content.endswith(b"\n") else content + b"\n")
    for name, each in files.items():
        if name != "data" and "size" in each:
            print(f"tinkbox: there is also {clean(name)}, {each['size']} bytes (--save DIR saves it)", file=sys.stderr)


def _show_versions(chosen: argparse.Namespace) -> None:
    for versions in ask_each(chosen, lambda operator, key: operator.workflows.data_versions(key)):
        wanted = [each for each in versions if chosen.data_version in (0, each["version"])]
        if chosen.format in ("table", "csv") and not chosen.quiet:
            lines = [
                {"version": each["version"], "at": each["at"], **file}
                for each in wanted
                for file in each["files"] or [_nothing(each)]
            ]
            show(chosen, lines, VERSIONS)
        else:
            show(chosen, wanted, VERSIONS, key="version")


def _nothing(version: Document) -> Document:
    return {"path": "(no files)" if version["kept"] else "(no longer kept)"}


def _kind(file: Document) -> str:
    if "link" in file:
        return f"link to {file['link']}"
    if "error" in file:
        return str(file["error"])
    if "mode" not in file:
        return ""
    return "file" if "size" in file else "folder"


def _save(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.saving import save
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
    print(f"Saved {len(entries) - len(left_out)} files of version {found['version']} to {chosen.save}")
    return 1 if left_out else 0
