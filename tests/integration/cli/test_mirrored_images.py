"""What `workflow create` pins of the images whose hosts have a mirror."""

import json
from pathlib import Path

from tests.integration.api.door import image_archive
from tests.integration.cli.serving import configure, run_here, serving

MAC = "02:00:00:00:00:01"
HARDWARE = {
    "id": "00000000-0000-0000-0000-000000000001",
    "network": {"interfaces": [{"dhcp": {"mac": MAC, "ip": {"address": "127.0.0.7"}}}]},
}
LOADED, ELSEWHERE = "quay.io/tools/wipe:v1", "quay.io/tools/other:v1"
TEMPLATE = f"""\
version: "0.1"
name: wipe
tasks:
  - name: one
    worker: "{{{{.device_1}}}}"
    actions:
      - {{name: one, image: "{LOADED}", timeout: 60}}
      - {{name: two, image: "{ELSEWHERE}", timeout: 60}}
"""


def test_what_a_person_loaded_of_a_mirrored_host_is_pinned_at_creation(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with configuration.path.open("a") as more:
        more.write("registry: {mirrors: {quay.io: 'http://127.0.0.1:9'}}\n")
    local = ("--data", str(configuration.data))
    files = {
        "hardware.json": json.dumps(HARDWARE).encode(),
        "wipe.yaml": TEMPLATE.encode(),
        "wipe.tar": image_archive(LOADED),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with serving(configuration):
        for words in (
            ("hardware", "push", "--file", str(tmp_path / "hardware.json")),
            ("template", "create", "-n", "wipe", "--file", str(tmp_path / "wipe.yaml")),
            ("image", "load", str(tmp_path / "wipe.tar")),
            ("workflow", "create", "-t", "wipe", "-r", json.dumps({"device_1": MAC})),
        ):
            done = run_here(*local, *words)
            assert done.status == 0, done
        (listed,) = json.loads(run_here(*local, "workflow", "list", "-o", "json").out)
        (image,) = json.loads(run_here(*local, "image", "list", "-o", "json").out)
        workflow = json.loads(run_here(*local, "workflow", "get", listed["id"], "-o", "json").out)
    found = [action["digest"] for action in workflow["actions"]]
    assert found == [image["digest"], ""]
