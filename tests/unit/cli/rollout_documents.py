"""Rollouts and plans of them as the appliance answers with them."""

from typing import Any

from tinkbox.model.rollout import Place

ID = "5d3f0a11-7f9c-4c51-8f0f-54f6d1a9e5b2"


def member(name: str, state: str = "WAITING", **more: str) -> dict[str, Any]:
    return {
        "machine": f"id-of-{name}",
        "name": name,
        "state": state,
        "workflow": "",
        "workflow_deleted": False,
        "reason": "",
        "message": "",
        **more,
    }


def reached(action: str, number: int = 2, total: int = 3, **more: Any) -> dict[str, Any]:
    """What a member tells of the action that its workflow stands at; all before it are done."""
    return {
        "action": action,
        "action_number": number,
        "action_progress": None,
        "actions_done": number - 1,
        "actions_total": total,
        "progress": (number - 1) * 100 // total,
        **more,
    }


def standing(state: str = "RUNNING", **more: Any) -> dict[str, Any]:
    counts = dict.fromkeys(Place, 0) | {Place(name): number for name, number in more.pop("counts", {}).items()}
    return {
        "id": ID,
        "state": state,
        "template": "ubuntu",
        "template_id": "t",
        "max_parallel": 8,
        "on_failure": "stop",
        "labels": {},
        "hardware": {},
        "created_by": "ann",
        "created_at": "2026-11-27T16:00:00+00:00",
        "updated_at": "2026-11-27T16:00:00+00:00",
        "total": sum(counts.values()),
        "counts": counts,
        "held": 0,
        "failures": [],
        "under_way": [],
        "waiting": [],
        **more,
    }


def plan(*names: str, refused: tuple[str, ...] = (), warnings: tuple[str, ...] = ()) -> dict[str, Any]:
    machines = [{"id": f"id-of-{name}", "name": name, "mac": f"mac-of-{name}"} for name in names]
    return {
        "digest": "d" * 32,
        "template": "ubuntu",
        "template_id": "t",
        "device": "device_1",
        "hardware": {"image": "x"},
        "max_parallel": 2,
        "on_failure": "stop",
        "machines": machines,
        "warnings": list(warnings),
        "refused": [{"name": name, "id": "", "why": "it is \x1b[31mretired"} for name in refused],
        "actions": [
            {"task": "os", "action": "image", "image": "disk-image:v1", "disk": "smallest", "wipes": ["smallest"]}
        ],
        "wipes": [{"disk": "smallest", "machines": len(names)}] if names else [],
    }
