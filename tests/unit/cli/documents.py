"""What the operator door answers, as the commands get to see it."""

MACHINE_ID = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"
TEMPLATE_ID = "75ab8483-6f42-42a9-a80d-a9f6196130df"
WORKFLOW_ID = "a8984b09-566d-47ba-b6c5-fbe482d8ad7f"
AT = "2020-07-08T15:17:02.250000+00:00"
DOCUMENT = {"id": MACHINE_ID, "metadata": {"facility": {"facility_code": "onprem"}}}
MACHINE = {
    "id": MACHINE_ID,
    "interfaces": [
        {
            "mac": "08:00:27:00:00:01",
            "address": "172.30.0.11",
            "netmask": "255.255.255.0",
            "gateway": "172.30.0.1",
            "hostname": "machine-1",
        },
        {"mac": "08:00:27:00:00:02", "address": "", "netmask": "", "gateway": "", "hostname": ""},
    ],
    "name": "machine-1",
    "state": "booting",
    "labels": {"rack": "r1", "gpu": "no"},
    "stage": "fetched the kernel",
    "stage_at": AT,
    "parked": "",
    "stalled": "",
    "last_contact": None,
    "created_at": AT,
    "document": DOCUMENT,
}
TEMPLATE = {
    "id": TEMPLATE_ID,
    "name": "hello",
    "labels": {},
    "created_at": AT,
    "updated_at": "2020-07-09T01:02:03+00:00",
    "data": 'version: "0.1"\nname: hello',
}
MACHINE_NAMED = {"id": MACHINE_ID, "name": "", "hostname": "machine-1", "mac": "08:00:27:00:00:01"}
WORKFLOW = {
    "id": WORKFLOW_ID,
    "name": "hello",
    "state": "RUNNING",
    "template_id": TEMPLATE_ID,
    "devices": {"device_1": "08:00:27:00:00:01"},
    "created_at": AT,
    "updated_at": AT,
    "actions": [],
    "labels": {},
    "text": 'version: "0.1"\nname: hello_world_workflow\n',
}

LISTED_WORKFLOW = {
    **{name: value for name, value in WORKFLOW.items() if name not in ("actions", "text")},
    "template_name": "hello-world",
    "machines": [MACHINE_NAMED],
    "reason": "",
    "message": "",
    "actions_done": 2,
    "actions_total": 5,
    "current_action": "disk-image",
}
STATE = {
    "workflow_id": WORKFLOW_ID,
    "state": "RUNNING",
    "name": "hello",
    "template_name": "hello-world",
    "machines": [MACHINE_NAMED],
    "actions_done": 2,
    "actions_total": 3,
    "progress": 66,
    "current_task": "hello world",
    "current_action": "reboot",
    "current_worker": MACHINE_ID,
    "current_action_state": "RUNNING",
    "failures": 0,
    "retries": 0,
    "reason": "",
    "message": "",
    "hint": "",
    "exit_code": None,
    "signal": "",
    "last_output": [],
    "held": None,
    "conditions": [],
}
ARMED = {"on_failure": True, "before": ["disk/image"], "after": [], "timeout": 1800, "on_expiry": "fail"}
HOLD = {
    "id": "x/1",
    "workflow_id": WORKFLOW_ID,
    "task": "disk",
    "action": "wipe",
    "worker": MACHINE_ID,
    "attempt": "x",
    "sequence": 1,
    "kind": "failure",
    "since": AT,
    "deadline": "2020-07-08T15:47:02.250000+00:00",
    "timeout": 1800,
    "on_expiry": "fail",
    "outcome": {"state": "FAILED", "exit_code": 3, "signal": "", "reason": "DiskNotFound", "message": "no disk"},
    "container": True,
    "in_place": True,
    "verdicts": ["continue", "fail", "retry", "abort"],
    "verdict": None,
    "decided_at": None,
    "ended_at": None,
}
STANDING = {
    "id": WORKFLOW_ID,
    "name": "hello",
    "state": "RUNNING",
    "machines": [MACHINE_NAMED],
    "armed": ARMED,
    "held": HOLD,
}


def event(number: int, kind: str, **data: object) -> dict[str, object]:
    return {"workflow_id": WORKFLOW_ID, "number": number, "at": AT, "kind": kind, **data}


EVENTS = [
    event(1, "workflow.created", name="hello"),
    event(2, "workflow.started"),
    event(
        3,
        "action.started",
        task="hello world",
        action="one",
        worker=MACHINE_ID,
        state="RUNNING",
        message="Started execution",
    ),
    event(
        4,
        "action.succeeded",
        task="hello world",
        action="one",
        worker=MACHINE_ID,
        state="SUCCESS",
        seconds=12.9,
        message="",
        reason="",
    ),
    event(
        5,
        "action.failed",
        task="hello world",
        action="two",
        worker=MACHINE_ID,
        state="FAILED",
        seconds=0.2,
        message="no /dev/sda\x1b[2J",
        reason="DiskNotFound",
    ),
    event(6, "workflow.failed"),
]


def service(**changes: object) -> dict[str, object]:
    """A service as `/v1/services` lists it."""
    fields: dict[str, object] = {
        "id": f"{WORKFLOW_ID}/boot files",
        "workflow_id": WORKFLOW_ID,
        "workflow": "hello",
        "workflow_state": "RUNNING",
        "url": f"http://{WORKFLOW_ID}.workflows.tinkbox.internal",
        "name": "boot files",
        "host": "provisioner",
        "machine": "",
        "image": "boot-files:v1",
        "state": "READY",
        "restarts": 0,
        "begun_at": AT,
        "ready_at": "2020-07-08T15:17:05.450000+00:00",
        "changed_at": "2020-07-08T15:17:05.450000+00:00",
        "exit_code": None,
        "signal": "",
        "reason": "",
        "message": "",
        "hint": "",
        "last_output": [],
        "output_bytes": 12,
        "run": "x",
        "routes": ["PathPrefix(`/boot`)"],
        "address": "10.213.0.2",
        "ports": [80],
    }
    return {**fields, **changes}
