"""`tinkbox workflow`."""

import argparse
import base64
import json
import sys
from collections.abc import Mapping, Sequence
from operator import itemgetter

from tinkbox.cli.appliance import ask, ask_each
from tinkbox.cli.output import Column, Document, clean, clean_block, fields, moment, show, show_texts
from tinkbox.client.operator import Operator
from tinkbox.model.errors import Invalid

# As 2020's tink named them.
ACTION_STATES: Mapping[str, str] = {
    "PENDING": "ACTION_PENDING",
    "RUNNING": "ACTION_IN_PROGRESS",
    "SUCCESS": "ACTION_SUCCESS",
    "FAILED": "ACTION_FAILED",
    "TIMEOUT": "ACTION_TIMEOUT",
}
COLUMNS: Sequence[Column] = (
    ("Workflow ID", lambda workflow: workflow["id"]),
    ("Template ID", lambda workflow: workflow["template_id"]),
    ("Hardware Device", lambda workflow: json.dumps(workflow["devices"])),
    ("Created At", lambda workflow: moment(workflow["created_at"])),
    ("Updated At", lambda workflow: moment(workflow["updated_at"])),
)
EVENTS: Sequence[Column] = (
    ("Worker ID", lambda event: event["worker"]),
    ("Task Name", lambda event: event["task"]),
    ("Action Name", lambda event: event["action"]),
    ("Execution Time", lambda event: int(event.get("seconds", 0))),
    ("Message", lambda event: _told(event)),
    ("Action Status", lambda event: ACTION_STATES[event["state"]]),
)
SPOKEN = {"SUCCESS": "Finished Execution Successfully", "FAILED": "Action Failed", "TIMEOUT": "Action Timed out"}


def create(chosen: argparse.Namespace) -> None:
    try:
        devices = json.loads(chosen.hardware)
    except ValueError as error:
        raise Invalid(
            f'-r is not valid JSON ({error}): expected a map such as {{"device_1": "08:00:27:00:00:01"}}'
        ) from None
    if not isinstance(devices, dict):
        raise Invalid('-r is a map of device names to addresses, such as {"device_1": "08:00:27:00:00:01"}')
    created = ask(chosen, lambda operator: operator.create_workflow(chosen.template, devices))
    print("Created Workflow: ", created["id"])


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, Operator.workflows), COLUMNS)


def get(chosen: argparse.Namespace) -> None:
    if not chosen.keys:
        show_list(chosen)
        return
    show_texts(chosen, ask_each(chosen, Operator.workflow), COLUMNS, "text")


def state(chosen: argparse.Namespace) -> None:
    stands = ask(chosen, lambda operator: operator.workflow_state(chosen.key))
    if chosen.format != "table" or chosen.quiet:
        show(chosen, [stands], [(name, itemgetter(name)) for name in stands], key="state")
        return
    pairs: list[tuple[str, object]] = [
        ("Workflow ID", stands["workflow_id"]),
        ("Workflow Progress", f"{stands['progress']}%"),
        ("Current Task", stands["current_task"]),
        ("Current Action", stands["current_action"]),
        ("Current Worker", stands["current_worker"]),
        ("Current Action State", ACTION_STATES[stands["current_action_state"]]),
    ]
    told = [("Reason", stands["reason"]), ("Message", stands["message"])]
    print(fields([*pairs, *(pair for pair in told if pair[1])], ("Field Name", "Values")), end="")


def events(chosen: argparse.Namespace) -> None:
    for happened in ask_each(chosen, Operator.workflow_events):
        shown = happened
        if chosen.format in ("table", "csv"):
            shown = [event for event in happened if event["kind"].startswith("action.")]
        show(chosen, shown, EVENTS, key="number")


def data(chosen: argparse.Namespace) -> None:
    for found in ask_each(chosen, lambda operator, key: operator.workflow_data(key, chosen.data_version)):
        if chosen.latest:
            print("Latest workflow data version:", found["version"])
        elif chosen.metadata:
            print(json.dumps({**found, "files": [_without_content(each) for each in found["files"]]}))
        else:
            _print_data(found)


def logs(chosen: argparse.Namespace) -> None:
    async def printed(operator: Operator) -> None:
        async for chunk in operator.workflow_logs(chosen.key, follow=chosen.follow):
            if sys.stdout.isatty():
                sys.stdout.write(clean_block(chunk.decode(errors="replace")))
                sys.stdout.flush()
            else:
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()

    ask(chosen, printed)


def watch(chosen: argparse.Namespace) -> int:
    """Print what happens to a workflow until it is over; 0 only when it succeeded."""
    import asyncio

    from tinkbox.client.operator import Unreachable

    async def watched(operator: Operator) -> int:
        workflow_id = (await operator.workflow(chosen.key))["id"]
        shown = 0
        while True:
            try:
                happened = await operator.workflow_events(workflow_id)
            except Unreachable as error:
                print(f"tinkbox: {error}; trying again", file=sys.stderr)
                await asyncio.sleep(2)
                continue
            for event in happened[shown:]:
                print(_line(event), flush=True)
                if event["kind"] in ("workflow.succeeded", "workflow.failed", "workflow.timeout"):
                    return 0 if event["kind"] == "workflow.succeeded" else 1
            shown = len(happened)
            await asyncio.sleep(0.5)

    return ask(chosen, watched)


def delete(chosen: argparse.Namespace) -> None:
    ask_each(chosen, Operator.delete_workflow)


def _told(event: Document) -> str:
    if event.get("message") or event.get("reason"):
        return ": ".join(part for part in (event.get("reason"), event.get("message")) if part)
    return SPOKEN.get(event["state"], "")


def _line(event: Document) -> str:
    what = " / ".join(str(event[name]) for name in ("task", "action") if event.get(name))
    seconds = f" after {event['seconds']:.1f} s" if "seconds" in event else ""
    told = f": {_told(event)}" if event.get("reason") else ""
    return clean(f"{moment(event['at'])}  {event['kind']:<18} {what}{seconds}{told}".rstrip())


def _print_data(found: Document) -> None:
    files = {each["path"]: each for each in found["files"]}
    content = base64.b64decode(files["data"]["content"]) if "content" in files.get("data", {}) else b"{}"
    sys.stdout.buffer.write(content if content.endswith(b"\n") else content + b"\n")
    for name, each in files.items():
        if name != "data" and "size" in each:
            print(f"tinkbox: there is also {clean(name)}, {each['size']} bytes", file=sys.stderr)


def _without_content(file: Document) -> Document:
    return {name: value for name, value in file.items() if name != "content"}
