"""What stands on the disk of a user of today's Tinkerbell is taken by the operator door as it is."""

import asyncio
import getpass
import json
from ipaddress import IPv4Network
from typing import Any

import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.loop_turns import AtOnce
from tests.unit.model.test_ssh_keys import key as ssh_key
from tinkbox.api.routes.machines.hardware import push_documents
from tinkbox.engine.applying.reading import Reading, SourceFile
from tinkbox.engine.documents.kubernetes import Part
from tinkbox.engine.machines.addressing import Addressing, notes_on
from tinkbox.engine.templates import templates
from tinkbox.engine.templates.validation import Verdicts
from tinkbox.model.documents.kubernetes import identity
from tinkbox.model.errors import Remarks
from tinkbox.model.hardware import Hardware
from tinkbox.model.leases import Subnet

MAC = "52:54:00:12:34:56"
NOWHERE = f"sha256:{'0' * 64}"
HARDWARE = f"""\
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata:
  name: machine1
  namespace: tink
spec:
  bmcRef: {{apiGroup: bmc.tinkerbell.org, kind: Machine, name: bmc1}}
  disks:
    - device: /dev/nvme0n1
  interfaces:
    - dhcp:
        arch: x86_64
        hostname: server001
        ip: {{address: 192.168.56.43, gateway: 192.168.56.4, netmask: 255.255.255.0}}
        mac: {MAC}
      netboot:
        allowPXE: true
"""
OBJECT = {"apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "metadata": {"name": "machine1"}}
TEMPLATE_OF = """\
---
apiVersion: tinkerbell.org/v1alpha1
kind: Template
metadata: {{name: {name}}}
spec:
  data: |
    {text}
"""
ONE_ACTION = (
    '{"version": "0.1", "name": "one", "global_timeout": 60, "tasks": [{"name": "t", "worker": "{{.device_1}}", "actions": '
    '[{"name": "a", "image": "echo", "timeout": 60}]}]}'
)
# The features of the playground's template: structure under a condition, functions, literal values, namespaces.
TEMPLATE = """\
apiVersion: tinkerbell.org/v1alpha1
kind: Template
metadata:
  name: ubuntu
  namespace: tink
spec:
  data: |
    version: "0.1"
    name: ubuntu_provisioning
    global_timeout: 9800
    tasks:
      - name: "os installation"
        worker: "{{.device_1}}"
        volumes:
          - /dev:/dev
          - /dev/console:/dev/console
          - /lib/firmware:/lib/firmware:ro
        actions:
          - name: "stream image"
            image: quay.io/tinkerbell/actions/image2disk:latest
            timeout: 9600
            environment:
              DEST_DISK: {{ index .Hardware.Disks 0 }}
              IMG_URL: "http://192.168.56.4/image.raw.gz"
              COMPRESSED: true
          - name: "add tink cloud-init config"
            image: quay.io/tinkerbell/actions/writefile:latest
            timeout: 90
            environment:
              DEST_DISK: {{ formatPartition ( index .Hardware.Disks 0 ) 1 }}
              FS_TYPE: ext4
              UID: 0
              MODE: 0644
              CONTENTS: |
                network:
                  name: {{ (index .Hardware.Interfaces 0).DHCP.Hostname | upper | quote }}
    {{- if regexMatch "a(arch|rm)" (lower (index .Hardware.Interfaces 0).DHCP.Arch) }}
          - name: "reboot"
            image: public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action:latest
            timeout: 90
            volumes:
              - /worker:/worker
    {{- else }}
          - name: "kexec"
            image: ghcr.io/jacobweinstock/waitdaemon:latest
            timeout: 90
            pid: host
            environment:
              BLOCK_DEVICE: {{ formatPartition ( index .Hardware.Disks 0 ) 1 }}
              IMAGE: quay.io/tinkerbell/actions/kexec:latest
              WAIT_SECONDS: 5
            volumes:
              - /var/run/docker.sock:/var/run/docker.sock
    {{- end }}
"""
WORKFLOW = f"""\
apiVersion: tinkerbell.org/v1alpha1
kind: Workflow
metadata:
  name: playground-workflow
  namespace: tink
spec:
  templateRef: ubuntu
  hardwareRef: machine1
  hardwareMap:
    device_1: {MAC}
  bootOptions:
    toggleAllowNetboot: true
"""
EVERYTHING = f"{HARDWARE}---\n{TEMPLATE}---\n{WORKFLOW}"


async def created(door: Door, everything: str = EVERYTHING) -> dict[str, object]:
    """What the third of the three commands answers to one and the same file."""
    await door.done("POST", "/v1/hardware", everything.encode())
    await door.done("POST", "/v1/templates", {"name": "", "data": everything})
    answer: dict[str, object] = await door.done("POST", "/v1/workflows", {"documents": everything})
    return answer


async def test_the_playgrounds_documents_become_a_workflow(door: Door) -> None:
    answer = await created(door)
    assert answer["created"] == [{"id": answer["id"], "name": "playground-workflow"}]
    workflow = await door.done("GET", "/v1/workflows/playground-workflow")
    assert (workflow["id"], workflow["global_timeout"]) == (answer["id"], 9800)
    stream, write, kexec = workflow["actions"]
    assert stream["environment"] == {
        "DEST_DISK": "/dev/nvme0n1",
        "IMG_URL": "http://192.168.56.4/image.raw.gz",
        "COMPRESSED": "true",
    }
    assert (write["environment"]["DEST_DISK"], write["environment"]["MODE"], write["environment"]["UID"]) == (
        "/dev/nvme0n1p1",
        "0644",
        "0",
    )
    assert write["environment"]["CONTENTS"] == 'network:\n  name: "SERVER001"\n'
    assert (kexec["name"], kexec["pid"], kexec["volumes"][-1]) == (
        "kexec",
        "host",
        "/var/run/docker.sock:/var/run/docker.sock",
    )
    assert {each["worker"] for each in workflow["actions"]} == {identity("tink", "machine1")}


async def test_another_machine_gets_another_structure(door: Door) -> None:
    await created(door, EVERYTHING.replace("arch: x86_64", "arch: AARCH64"))
    workflow = await door.done("GET", "/v1/workflows/playground-workflow")
    assert [each["name"] for each in workflow["actions"]][2:] == ["reboot"]


async def test_every_command_names_what_it_leaves_and_what_is_not_honoured(door: Door) -> None:
    pushed = await door.done("POST", "/v1/hardware", EVERYTHING.encode())
    assert pushed["pushed"] == [{"id": identity("tink", "machine1"), "name": "machine1", "mac": MAC}]
    assert [(each["line"], each["text"].split(":")[0]) for each in pushed["notes"]] == [
        (7, "not honoured"),
        (19, "Template ubuntu is left for `tinkbox template create`"),
        (74, "Workflow playground-workflow is left for `tinkbox workflow create`"),
        (None, "`tinkbox apply -f FILE` takes all kinds of documents at once"),
    ]


async def test_pushing_a_machine_twice_updates_it(door: Door) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    await door.done("POST", "/v1/hardware", HARDWARE.replace("server001", "server007").encode())
    (machine,) = await door.done("GET", "/v1/hardware")
    assert machine["interfaces"][0]["hostname"] == "server007"
    for key in ("machine1", "server007", identity("tink", "machine1")):
        assert (await door.done("GET", f"/v1/hardware/{key}"))["id"] == machine["id"]


async def test_several_machines_are_pushed_all_or_none(door: Door) -> None:
    other = HARDWARE.replace("machine1", "machine2").replace(MAC, "52:54:00:12:34:57").replace("56.43", "56.44")
    await door.done("POST", "/v1/hardware", hardware(1))
    taken = other.replace("52:54:00:12:34:57", mac(1))
    status, problem = await door.ask("POST", "/v1/hardware", f"{HARDWARE}---\n{taken}".encode())
    assert (status, "conflicting hardware MAC address" in problem["detail"]) == (409, True)
    assert len(await door.done("GET", "/v1/hardware")) == 1
    await door.done("POST", "/v1/hardware", f"{HARDWARE}---\n{other}".encode())
    assert len(await door.done("GET", "/v1/hardware")) == 3


async def test_an_agent_id_names_its_machine_and_no_other(door: Door) -> None:
    text = EVERYTHING.replace("spec:\n  bmcRef", "spec:\n  agentID: agent-7\n  bmcRef").replace(
        f"device_1: {MAC}", "device_1: agent-7"
    )
    await created(door, text)
    workflow = await door.done("GET", "/v1/workflows/playground-workflow")
    assert workflow["actions"][0]["worker"] == identity("tink", "machine1")
    second = HARDWARE.replace("machine1", "machine2").replace(MAC, mac(2)).replace("56.43", "56.44")
    second = second.replace("spec:\n", "spec:\n  agentID: agent-7\n")
    status, problem = await door.ask("POST", "/v1/hardware", second.encode())
    assert (status, "conflicting hardware agent id agent-7" in problem["detail"]) == (409, True)


async def test_a_machine_that_must_not_netboot_may_for_a_workflow_that_says_so(door: Door) -> None:
    text = EVERYTHING.replace("allowPXE: true", "allowWorkflow: true")
    await door.done("POST", "/v1/hardware", text.encode())
    await door.done("POST", "/v1/templates", {"name": "", "data": text})
    kept = text.replace("toggleAllowNetboot: true", "toggleAllowNetboot: false")
    await door.done("POST", "/v1/workflows", {"documents": kept})
    assert not (await door.box.machines.get("machine1")).hardware.interfaces[0].allow_pxe
    answer = await door.done("POST", "/v1/workflows", {"documents": text})  # the same workflow
    assert (answer["created"], len(await door.done("GET", "/v1/workflows"))) == ([], 1)
    machine = (await door.box.machines.get("machine1")).hardware
    assert machine.interfaces[0].allow_pxe
    assert machine.document["spec"]["interfaces"][0]["netboot"] == {"allowWorkflow": True, "allowPXE": True}
    assert "machine1 has allowPXE: true now" in answer["notes"][-1]["text"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("hardwareRef: machine1", "hardwareRef: machine9"), "hardware machine9 not found: push its document first"),
        (("templateRef: ubuntu", "templateRef: ''"), "the name of a template is required"),
        (
            ("device_1", "device_2"),
            "placeholder device_1 has no value: give it under spec.hardwareMap of the document, which has device_2",
        ),
    ],
)
async def test_a_workflow_that_cannot_be_is_refused_with_its_problem(
    door: Door, change: tuple[str, str], said: str
) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    await door.done("POST", "/v1/templates", {"name": "ubuntu", "data": HELLO})
    status, problem = await door.ask("POST", "/v1/workflows", {"documents": WORKFLOW.replace(*change)})
    assert status == 422
    assert any(said in each["text"] for each in problem["problems"]), problem
    assert await door.done("GET", "/v1/workflows") == []


async def test_an_unknown_key_of_a_workflow_is_told_and_refused_where_that_is_wanted(door: Door) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    args = HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]")
    told = (await door.done("POST", "/v1/templates", {"name": "ubuntu", "data": args}))["notes"]
    assert [each["key"] for each in told] == ["tasks[0].actions[0].args"]
    slip = WORKFLOW.replace("bootOptions:", "bootOption:")
    status, refused = await door.ask("POST", "/v1/workflows", {"documents": slip, "strict": True})
    assert (status, "did you mean bootOptions?" in refused["problems"][0]["text"]) == (422, True)
    assert (await door.ask("POST", "/v1/workflows", {"documents": WORKFLOW, "strict": True}))[0] == 422, (
        "the template's"
    )
    asked = {"template": "ubuntu", "hardware": {"device_1": MAC}}
    assert (await door.ask("POST", "/v1/workflows", {**asked, "strict": True}))[0] == 422
    assert await door.done("GET", "/v1/workflows") == []
    notes = (await door.done("POST", "/v1/workflows", {"documents": slip}))["notes"]
    assert "unknown key bootOption is ignored; did you mean bootOptions?" in notes[0]["text"]
    assert any("template ubuntu: line " in each["text"] and "args" in each["text"] for each in notes)
    assert any(
        each.get("key") == "tasks[0].actions[0].args"
        for each in (await door.done("POST", "/v1/workflows", asked))["notes"]
    )


async def test_what_is_ignored_of_templates_is_a_note_or_a_problem(door: Door) -> None:
    args = HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]")
    for asked in ({"data": args}, {"name": "x", "data": args}):
        path = "/v1/templates" + ("" if "name" in asked else "/validate")
        assert (await door.ask("POST", path, {**asked, "strict": True}))[0] == 422
    (note,) = (await door.done("POST", "/v1/templates/validate", {"data": args}))["notes"]
    assert note["text"] == "unknown key args is ignored; here it is command"
    disk = {"data": args.replace("[a]", "[{{ index .Hardware.Disks 99 }}]")}
    (unseen,) = (await door.done("POST", "/v1/templates/validate", disk))["notes"]
    assert "nothing of what it makes was looked at, such as unknown keys" in unseen["text"]
    await door.done("POST", "/v1/templates", {"name": "x", "data": HELLO})
    assert "notes" not in await door.done("PUT", "/v1/templates/x", {"data": HELLO + "# more\n"})
    assert (await door.ask("PUT", "/v1/templates/x", {"data": args, "strict": True}))[0] == 422
    (note,) = (await door.done("PUT", "/v1/templates/x", {"data": args}))["notes"]
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    answer = await door.done("POST", "/v1/templates/validate", {"template": "x"})
    assert [each["problems"] for each in answer["verdicts"]] == [[]]
    assert [each for each in answer["notes"] if each["key"]] == [note]
    status, refused = await door.ask("POST", "/v1/templates/validate", {"template": "x", "strict": True})
    assert (status, refused["problems"]) == (422, [note])
    rendered = args.replace("args: [a]", "args: [{{ index .Hardware.Disks 0 }}]")
    status, refused = await door.ask("POST", "/v1/templates/validate", {"data": rendered, "strict": True})
    assert (status, refused["problems"]) == (422, [note])
    filled = {"name": "filled", "data": rendered}
    status, refused = await door.ask("POST", "/v1/templates", {**filled, "strict": True})
    assert (status, refused["problems"]) == (422, [note])
    (told,) = (await door.done("POST", "/v1/templates", filled))["notes"]
    assert told["text"].endswith(note["text"])
    assert (await door.ask("PUT", "/v1/templates/x", {"data": rendered, "strict": True}))[0] == 422
    documents = "".join(TEMPLATE_OF.format(name=name, text=args.replace("\n", "\n    ")) for name in ("one", "two"))
    notes = (await door.done("POST", "/v1/templates", {"data": documents}))["notes"]
    assert [each["text"].split(",")[0] for each in notes] == ["template one", "template two"]


async def test_parameters_are_what_json_has(door: Door) -> None:
    """Numbers are Go's float64, and lists of texts are lines."""
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    template = HELLO.replace(
        "image: hello-world",
        """image: hello-world
        environment:
          N: '{{ .n }}|{{ printf "%.1f" .n }}|{{ add .n 1 }}'
          B: '{{ if .b }}yes{{ else }}no{{ end }}'
          F: '{{ .f }}'
          M: '{{ .nested.list | len }}{{ index .nested.list 1 }}'
          L: '{{ range splitList "\\n" .lines }}[{{ . }}]{{ end }}'
          Z: '{{ if .null }}yes{{ else }}no{{ end }}'
          E: '{{ range .items }}{{ . }};{{ end }}'""",
    )
    await door.done("POST", "/v1/templates", {"name": "kinds", "data": template})
    given = {
        "device_1": MAC, "n": 3, "b": False, "f": 1.5, "nested": {"list": [1, "two"]}, "lines": ["a", "b"], "null": None,
        "items": [1, True],
    }  # fmt: skip
    created = await door.done("POST", "/v1/workflows", {"template": "kinds", "hardware": given})
    workflow = await door.done("GET", f"/v1/workflows/{created['id']}")
    assert workflow["actions"][0]["environment"] == {
        "N": "3|3.0|4", "B": "no", "F": "1.5", "M": "2two", "L": "[a][b]", "Z": "no", "E": "1;true;",
    }  # fmt: skip
    assert workflow["devices"] == {**given, "lines": "a\nb"}
    (listed,) = await door.done("GET", "/v1/workflows")
    assert listed["devices"]["nested"] == '{"list": [1, "two"]}'
    (verdict,) = (await door.done("POST", "/v1/templates/validate", {"template": "kinds", "hardware": given}))[
        "verdicts"
    ]
    assert verdict["problems"] == []
    jinja = "{# #}" + HELLO.replace("{{.device_1}}", "{{ device_1 }}").replace("{{ .device_1 }}", "{{ device_1 }}")
    jinja = jinja.replace(
        "image: hello-world", "image: hello-world\n        environment: {N: '{{ n }}', M: '{{ nested.list[0] + 1 }}'}"
    )
    await door.done("POST", "/v1/templates", {"name": "jinja", "data": jinja})
    created = await door.done("POST", "/v1/workflows", {"template": "jinja", "hardware": given})
    workflow = await door.done("GET", f"/v1/workflows/{created['id']}")
    assert workflow["actions"][0]["environment"] == {"N": "3", "M": "2"}


@pytest.mark.parametrize("value", [10**400, {"a": [10**400]}])
async def test_a_number_that_go_has_none_of_is_refused(door: Door, value: object) -> None:
    asked = {"template": "x", "hardware": {"device_1": MAC, "n": value}}
    status, problem = await door.ask("POST", "/v1/workflows", asked)
    assert (status, "is too large" in str(problem)) == (422, True)


async def test_the_workflows_of_a_file_are_created_with_breakpoints_and_a_persons_word(door: Door) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    await door.done("POST", "/v1/templates", {"name": "ubuntu", "data": HELLO})
    armed = {"on_failure": True, "after": ["second"]}
    asked = {"documents": WORKFLOW, "breakpoints": armed, "confirm_wipe": True}
    answer = await door.done("POST", "/v1/workflows", asked)
    assert (await door.box.workflows.get(answer["id"])).wipe_confirmed
    (standing,) = await door.done("GET", "/v1/breakpoints")
    assert (standing["id"], standing["armed"]["on_failure"]) == (answer["id"], True)
    assert standing["armed"]["after"] == ["hello world/second"]
    (*_, event) = await door.done("GET", f"/v1/workflows/{answer['id']}/events")
    assert (event["kind"], event["who"]) == ("breakpoint.armed", getpass.getuser())


async def test_of_several_workflows_none_is_made_where_one_is_refused(door: Door) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    await door.done("POST", "/v1/templates", {"name": "", "data": TEMPLATE})
    second = WORKFLOW.replace("playground-workflow", "second").replace("templateRef: ubuntu", "templateRef: windows")
    status, problem = await door.ask("POST", "/v1/workflows", {"documents": f"{WORKFLOW}---\n{second}"})
    (told,) = problem["problems"]
    assert (status, told["key"]) == (422, "spec.templateRef")
    assert told["line"] == WORKFLOW.count("\n") + 1 + second[: second.index("templateRef")].count("\n") + 1
    assert told["text"].startswith("template 'windows' not found")
    assert await door.done("GET", "/v1/workflows") == []


async def test_a_template_is_named_by_its_document_unless_a_name_is_given(door: Door) -> None:
    await door.done("POST", "/v1/templates", {"name": "mine", "data": TEMPLATE})
    other = TEMPLATE.replace("name: ubuntu\n", "name: other\n")
    two = f"{TEMPLATE}---\n{other}"
    answer = await door.done("POST", "/v1/templates", {"name": "", "data": two})
    assert [each["name"] for each in answer["created"]] == ["ubuntu", "other"]
    assert [each["name"] for each in await door.done("GET", "/v1/templates")] == ["mine", "ubuntu", "other"]
    assert (await door.ask("POST", "/v1/templates", {"name": "x", "data": two}))[0] == 422
    assert (await door.ask("POST", "/v1/templates", {"name": "", "data": f"{TEMPLATE}---\n{TEMPLATE}"}))[0] == 422
    empty = TEMPLATE[: TEMPLATE.index("spec:")]
    assert (await door.ask("POST", "/v1/templates", {"name": "", "data": empty}))[0] == 422


async def test_the_same_file_a_second_time_makes_nothing_and_says_so(door: Door) -> None:
    first = await created(door)
    before = await door.done("GET", "/v1/hardware/machine1")
    status, again = await door.ask("POST", "/v1/templates", {"name": "", "data": EVERYTHING, "labels": {"a": "b"}})
    stored = await door.done("GET", "/v1/templates/ubuntu")
    assert (status, again["created"], again["results"]) == (
        200,
        [],
        [{"id": stored["id"], "name": "ubuntu", "outcome": "unchanged"}],
    )
    assert again["notes"][-1]["text"] == (
        "template ubuntu is there already with the same text: nothing was made, and its labels stay as they are: `tinkbox template "
        f"label {stored['id']}` changes them"
    )
    await door.done("POST", "/v1/hardware", EVERYTHING.encode())
    assert (await door.done("GET", "/v1/hardware/machine1"))["document"] == before["document"]
    status, again = await door.ask("POST", "/v1/workflows", {"documents": EVERYTHING})
    assert (status, again["id"], again["created"]) == (200, first["id"], [])
    assert again["results"] == [{"id": first["id"], "name": "playground-workflow", "outcome": "unchanged"}]
    status, again = await door.ask("POST", "/v1/workflows", {"documents": EVERYTHING, "again": True})
    assert (status, outcomes(again), again["id"] == first["id"]) == (201, {"playground-workflow": "created"}, False)


def outcomes(answer: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["outcome"] for each in answer["results"]}


async def test_what_became_of_documents_is_answered_in_the_order_of_the_file(door: Door) -> None:
    def named(name: str) -> str:
        return TEMPLATE.replace("name: ubuntu\n", f"name: {name}\n")

    await door.done("POST", "/v1/templates", {"name": "", "data": named("two")})
    file = "---\n".join(map(named, ("one", "two", "three")))
    answer = await door.done("POST", "/v1/templates", {"name": "", "data": file})
    assert list(outcomes(answer).items()) == [("one", "created"), ("two", "unchanged"), ("three", "created")]
    await created(door)
    flow = EVERYTHING[EVERYTHING.index("kind: Workflow") :].partition("---")[0]
    assert "playground-workflow" in flow
    again = EVERYTHING.replace("playground-workflow", "a-new-one") + "\n---\n" + EVERYTHING
    answer = await door.done("POST", "/v1/workflows", {"documents": again})
    assert list(outcomes(answer).items()) == [("a-new-one", "created"), ("playground-workflow", "unchanged")]
    later = EVERYTHING + "\n---\n" + EVERYTHING.replace("playground-workflow", "another")
    answer = await door.done("POST", "/v1/workflows", {"documents": later})
    assert list(outcomes(answer).items()) == [("playground-workflow", "unchanged"), ("another", "created")]
    assert answer["id"] == answer["results"][0]["id"]


async def test_a_template_of_2020_is_named_by_its_text_unless_a_name_is_given(door: Door) -> None:
    own = HELLO.replace("name: hello_world_workflow\n", 'name: "own.name"  # ours\n', 1)
    (created,) = (await door.done("POST", "/v1/templates", {"name": "", "data": own}))["created"]
    assert created["name"] == "own.name"
    await door.done("POST", "/v1/templates", {"name": "given", "data": own})
    assert [each["name"] for each in await door.done("GET", "/v1/templates")] == ["own.name", "given"]
    for odd in ("name: 'a b'\n", "name: {{ .x }}\n", "name:\n", ""):
        text = HELLO.replace("name: hello_world_workflow\n", odd, 1)
        status, told = await door.ask("POST", "/v1/templates", {"name": "", "data": text})
        assert (status, "give it with -n" in told["detail"]) == (422, True)


async def test_a_template_is_updated_from_its_document(door: Door) -> None:
    await door.done("POST", "/v1/templates", {"name": "ubuntu", "data": HELLO})
    await door.done("PUT", "/v1/templates/ubuntu", {"data": TEMPLATE})
    assert (await door.done("GET", "/v1/templates/ubuntu"))["data"].startswith('version: "0.1"\nname: ubuntu_prov')


def in_namespaces(*names: str) -> str:
    """A template of one name in several namespaces, each with a text of its own."""
    return "".join(
        TEMPLATE_OF.format(name=f"ubuntu, namespace: {each}", text=json.dumps(json.loads(ONE_ACTION) | {"name": each}))
        for each in names
    )


async def test_a_file_may_have_one_name_in_several_namespaces(door: Door) -> None:
    both = in_namespaces("a", "b")
    checked = await door.done("POST", "/v1/templates/validate", {"data": both, "hardware": {}})
    assert [(each["template"], each["namespace"]) for each in checked["verdicts"]] == [("ubuntu", "a"), ("ubuntu", "b")]
    answer = await door.done("POST", "/v1/templates", {"name": "", "data": both})
    assert [each["outcome"] for each in answer["results"]] == ["created"] * 2
    listed = {each["namespace"]: each["id"] for each in await door.done("GET", "/v1/templates")}
    assert listed == dict(zip(("a", "b"), (each["id"] for each in answer["results"]), strict=True))
    other = both.replace("echo", "true")
    answer = await door.done("PUT", f"/v1/templates/{listed['b']}", {"data": other})
    assert [each["text"] for each in answer["notes"]] == ["1 other template in it left out"]
    assert '"name": "b"' in (await door.done("GET", f"/v1/templates/{listed['b']}"))["data"]
    status, refused = await door.ask("PUT", f"/v1/templates/{listed['b']}", {"data": in_namespaces("a", "c")})
    assert (status, refused["detail"]) == (
        422,
        "there are 2 templates in it, and one is asked for: ubuntu of namespace a, ubuntu of namespace c",
    )
    for asked in ({"name": "", "data": in_namespaces("a", "a")}, {"name": "x", "data": both}):
        assert (await door.ask("POST", "/v1/templates", asked))[0] == 422


async def test_what_is_wrong_with_each_template_of_a_file_is_told_at_once(door: Door) -> None:
    wrong = in_namespaces("a", "b", "c").replace('"image"', '"imag"')
    good = in_namespaces("d")
    for path, asked in (("/v1/templates", {"name": ""}), ("/v1/templates/validate", {"hardware": {}})):
        status, refused = await door.ask("POST", path, {**asked, "data": good + wrong})
        assert (status, refused["detail"]) == (422, "3 invalid templates")
        titles = {each["text"].partition(", ")[0] for each in refused["problems"]}
        assert titles == {f"template ubuntu of namespace {each}" for each in "abc"}
    assert await door.done("GET", "/v1/templates") == []
    status, refused = await door.ask(
        "POST", "/v1/templates", {"name": "", "data": in_namespaces("a").replace('"image"', '"imag"')}
    )
    assert refused["detail"].startswith("invalid template: ")


async def test_what_is_wrong_in_the_text_of_a_template_is_told_with_the_line_of_its_file(door: Door) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    wrong = f"{HARDWARE}---\n{TEMPLATE}".replace("{{ index", "{{ indx")
    line = wrong[: wrong.index("indx")].count("\n") + 1
    told = []
    for way, path, asked in (
        ("POST", "/v1/templates", {"name": "", "data": wrong}),
        ("POST", "/v1/templates/validate", {"data": wrong}),
        ("PUT", "/v1/templates/ubuntu", {"data": wrong}),
    ):
        if way == "PUT":
            await door.done("POST", "/v1/templates", {"name": "", "data": TEMPLATE})
        status, refused = await door.ask(way, path, asked)
        assert status == 422
        told.append([(each["line"], each["text"].split(";")[0]) for each in refused["problems"]])
    assert told == [[(line, 'function "indx" not defined')]] * 3
    _, applied = await door.ask("POST", "/v1/apply", {"files": [{"name": "one.yaml", "text": wrong}]})
    assert f"one.yaml:{line}" in str(applied)
    unfilled = f"{HARDWARE}---\n{TEMPLATE}".replace("Disks 0", "Disks 7")
    (verdict,) = (await door.done("POST", "/v1/templates/validate", {"data": unfilled}))["verdicts"]
    assert [each["line"] for each in verdict["problems"]] == [line]


async def test_what_is_ignored_in_the_text_of_a_template_is_told_with_the_line_of_its_file(door: Door) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    lines = HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]").replace("\n", "\n    ")
    documents = HARDWARE + TEMPLATE_OF.format(name="one", text=lines) + TEMPLATE_OF.format(name="two", text=lines)
    places = [place + 1 for place, each in enumerate(documents.splitlines()) if "args" in each]
    created = await door.done("POST", "/v1/templates", {"name": "", "data": documents})
    validated = await door.done("POST", "/v1/templates/validate", {"data": documents})
    for answer in (created, validated):
        told = [each["text"] for each in answer["notes"] if "args" in each["text"]]
        assert [each.split(",")[:2] for each in told] == [
            [f"template {name}", f" line {place}"] for name, place in zip(("one", "two"), places, strict=True)
        ]
    updated = await door.done("PUT", "/v1/templates/two", {"data": documents})
    assert [each["line"] for each in updated["notes"] if "args" in each["key"]] == places[1:]
    _, strict = await door.ask("POST", "/v1/templates/validate", {"data": documents, "strict": True})
    assert [each["text"].split(",")[1] for each in strict["problems"]] == [f" line {each}" for each in places]


async def test_a_line_of_a_text_that_stands_otherwise_in_its_file_is_told_as_one_of_the_text(door: Door) -> None:
    document = {**OBJECT, "kind": "Template", "spec": {"data": HELLO.replace("worker: ", "wroker: ")}}
    status, refused = await door.ask("POST", "/v1/templates", {"name": "", "data": json.dumps(document)})
    assert status == 422
    assert {each["key"] for each in refused["problems"]} == {"spec.data"}
    assert any(each["text"].startswith("line 6 of the text: tasks[0].") for each in refused["problems"])


async def test_another_name_in_the_document_of_an_update_is_told(door: Door) -> None:
    made = await door.done("POST", "/v1/templates", {"name": "tmp1", "data": HELLO})
    for document in (in_namespaces("b"), in_namespaces("b").replace("name: ubuntu", "name: tmp1")):
        (note,) = (await door.done("PUT", "/v1/templates/tmp1", {"data": document}))["notes"]
        assert "of namespace b, and template tmp1 of no namespace was changed" in note["text"]
    assert [(each["id"], each["namespace"]) for each in await door.done("GET", "/v1/templates")] == [(made["id"], "")]
    same = in_namespaces("default")
    assert await door.done("PUT", "/v1/templates/tmp1", {"data": same, "name": "ubuntu"}) == {"id": made["id"]}
    assert await door.done("PUT", "/v1/templates/ubuntu", {"data": same}) == {"id": made["id"]}


async def test_one_validation_of_each_person_is_made_at_a_time(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    made = AtOnce()

    async def slow(*_: object) -> Verdicts:
        await made.work()
        return Verdicts()

    monkeypatch.setattr(templates, "validate", slow)
    async with asyncio.TaskGroup() as asking:
        for _ in range(3):
            asking.create_task(door.done("POST", "/v1/templates/validate", {"data": HELLO}))
    assert made.seen == [1] * 3


async def test_a_template_is_validated_for_every_machine_without_being_stored(door: Door) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    await door.done("POST", "/v1/hardware", hardware(1))
    answer = await door.done("POST", "/v1/templates/validate", {"data": TEMPLATE})
    fine, bad = answer["verdicts"]
    assert (fine["template"], fine["machine"], fine["devices"], fine["problems"]) == (
        "ubuntu",
        "machine1",
        {"device_1": MAC},
        [],
    )
    assert bad["machine"] == "machine-1"
    assert "index out of range" in bad["problems"][0]["text"]
    asked = {"data": TEMPLATE, "hardware": {"device_1": MAC}}
    (only,) = (await door.done("POST", "/v1/templates/validate", asked))["verdicts"]
    assert (only["machine"], only["problems"]) == ("machine1", [])
    assert await door.done("GET", "/v1/templates") == []
    await door.done("POST", "/v1/templates", {"name": "stored", "data": HELLO})
    answer = await door.done("POST", "/v1/templates/validate", {"template": "stored"})
    assert [(each["template"], each["problems"]) for each in answer["verdicts"]] == [("stored", [])] * 2
    for number in (10, 2):
        await door.done("POST", "/v1/hardware", hardware(number))
    answer = await door.done("POST", "/v1/templates/validate", {"template": "stored"})
    assert [each["machine"] for each in answer["verdicts"]] == ["machine1", "machine-1", "machine-2", "machine-10"]
    assert (await door.ask("POST", "/v1/templates/validate", {"data": HELLO, "template": "stored"}))[0] == 422
    assert (await door.ask("POST", "/v1/templates/validate", {"data": HELLO, "hardware": []}))[0] == 422


async def test_a_jinja2_template_becomes_a_workflow(door: Door) -> None:
    await door.done("POST", "/v1/hardware", HARDWARE.encode())
    text = HELLO.replace("{{.device_1}}", "{{ device_1 }}") + (
        "{% for disk in hardware.spec.disks %}\n      - name: wipe {{ disk.device }}\n        image: wipe\n{% endfor %}\n"
        "      - {name: last, image: x, environment: {W: '{{ workflow_id }}'}}\n"
    )
    await door.done("POST", "/v1/templates", {"name": "jinja", "data": text})
    answer = await door.done("POST", "/v1/workflows", {"template": "jinja", "hardware": {"device_1": MAC}})
    actions = (await door.done("GET", f"/v1/workflows/{answer['id']}"))["actions"]
    assert [each["name"] for each in actions] == ["hello_world", "second", "wipe /dev/nvme0n1", "last"]
    assert actions[-1]["environment"] == {"W": answer["id"]}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ('{"metadata": {"a": 1e999}}', "metadata.a: 1e999 is no number in JSON"),
        (
            '{"apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "spec": {"metadata": {"a": NaN}}}',
            "spec.metadata.a: NaN is no number",
        ),
        (HARDWARE + "  metadata: {a: .nan}\n", ".nan is no number in JSON"),
        (HARDWARE + "  metadata: {a: -.Inf}\n", "-.Inf is no number in JSON"),
        (HARDWARE + "  metadata: {a: 1.0e+999}\n", "1.0e+999 is no number in JSON"),
        (HARDWARE + '  metadata: {instance: {hostname: "a\\nb"}}\n', "it has a line break"),
    ],
)
async def test_hardware_that_would_break_what_others_ask_is_refused(door: Door, document: str, told: str) -> None:
    status, answer = await door.ask("POST", "/v1/hardware", document.encode())
    assert status == 422
    assert told in str(answer)
    assert await door.done("GET", "/v1/hardware") == []


async def test_a_machine_is_added_by_its_mac(door: Door) -> None:
    wanted = {
        "mac": "080027000007",
        "name": "node7",
        "address": "172.30.0.7/24",
        "interface_macs": ["08-00-27-00-00-08"],
    }
    status, added = await door.ask("POST", "/v1/hardware/add", wanted)
    assert status == 201
    assert [(each["mac"], each["address"], each["hostname"]) for each in added["interfaces"]] == [
        ("08:00:27:00:00:07", "172.30.0.7", "node7"),
        ("08:00:27:00:00:08", "", ""),
    ]
    assert (await door.done("GET", "/v1/hardware/node7"))["id"] == added["id"]


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({}, 422),
        ({"mac": "x"}, 422),
        ({"mac": "08:00:27:00:00:07", "nmae": "x"}, 422),
        ({"mac": "08:00:27:00:00:07", "name": "No Name"}, 422),
        ({"mac": "08:00:27:00:00:07", "address": "10.0.0.1"}, 422),
        ({"mac": "08:00:27:00:00:07", "ssh_keys": ["hello"]}, 422),
        ({"mac": "08:00:27:00:00:07", "interface_macs": "x"}, 422),
        ({"mac": "08:00:27:00:00:07", "disks": ["/etc/passwd"]}, 422),
        ({"mac": "08:00:27:00:00:07", "address": "169.254.0.5/16"}, 422),
    ],
)
async def test_a_machine_that_cannot_be_is_not_added(door: Door, wanted: dict[str, object], status: int) -> None:
    assert (await door.ask("POST", "/v1/hardware/add", wanted))[0] == status
    assert await door.done("GET", "/v1/hardware") == []


KEYS = [ssh_key(number=1), ssh_key(number=2)]


async def test_templates_of_the_program_are_listed_validated_and_used(door: Door) -> None:
    (listed,) = await door.done("GET", "/v1/template-catalogue")
    assert (listed["name"], listed["stored"]) == ("install", "")
    assert (await door.done("GET", "/v1/templates/install"))["data"] == listed["data"]
    assert await door.done("GET", "/v1/templates") == []
    await door.done("POST", "/v1/hardware", hardware(1))
    asked = {"template": "install", "hardware": {"device_1": mac(1), "image": "debian-13", "ssh_keys": KEYS}}
    assert [each["problems"] for each in (await door.done("POST", "/v1/templates/validate", asked))["verdicts"]] == [[]]
    made = await door.done("POST", "/v1/workflows", asked)
    workflow = await door.done("GET", f"/v1/workflows/{made['id']}")
    assert workflow["template_id"] == "install"
    assert workflow["devices"]["ssh_keys"] == "\n".join(KEYS)
    status, _ = await door.ask("POST", "/v1/workflows", {**asked, "hardware": [1]})
    assert status == 422


async def test_a_slip_in_a_document_of_2020_is_told(door: Door) -> None:
    pushed = await door.done("POST", "/v1/hardware", {**hardware(1), "lables": {"rack": "r1"}})
    assert [(each["key"], each["text"]) for each in pushed["notes"]] == [
        ("lables", "unknown key lables; did you mean labels?")
    ]


async def test_user_data_is_told_by_its_key_and_its_line(door: Door) -> None:
    of_2020 = {**hardware(1), "metadata": {"instance": {"userdata": "#cloud-config\nruncmd: x\n"}}}
    of_today = json.loads(json.dumps(OBJECT)) | {"spec": {"disks": [], "userData": "#cloud-config\nruncmd: x\n"}}
    for document, key in ((of_2020, "metadata.instance.userdata"), (of_today, "spec.userData")):
        lines = json.dumps(document, indent=1).splitlines()
        status, refused = await door.ask("POST", "/v1/hardware?strict=true", "\n".join(lines).encode())
        (told,) = refused["problems"]
        assert (status, told["key"]) == (422, key)
        assert key.rpartition(".")[2] in lines[told["line"] - 1]
        assert told in (await door.done("POST", "/v1/hardware", "\n".join(lines).encode()))["notes"]
        odd = "\n".join(lines).replace("runcmd: x", "locale: a\\nlocale: b")
        (note,) = [
            each for each in (await door.done("POST", "/v1/hardware", odd.encode()))["notes"] if each["key"] == key
        ]
        assert note["text"].startswith("line 3 in it, locale: key locale is given twice")
        assert note["line"] == told["line"]


async def test_a_document_of_2020_without_a_network_is_taken(door: Door) -> None:
    pushed = await door.done("POST", "/v1/hardware", {"id": hardware(1)["id"], "metadata": {}})
    assert [each["key"] for each in pushed["notes"]] == ["network", "network.interfaces"]
    shown = await door.done("GET", f"/v1/hardware/{pushed['id']}")
    assert (shown["interfaces"], shown["mac"]) == ([], "")


async def test_a_push_is_refused_that_changes_what_a_workflow_knows_a_machine_by(door: Door) -> None:
    await door.box.machine(1)
    workflow = await door.box.workflow()
    moved = json.loads(json.dumps(hardware(1)).replace(mac(1), mac(9)))
    status, problem = await door.ask("POST", "/v1/hardware", moved)
    told = f"workflow {workflow[:8]} is not over and knows machine machine-1 by its MACs, addresses and agent id"
    assert (status, problem["detail"].startswith(told)) == (409, True)
    await door.done("POST", "/v1/hardware", hardware(1))


async def test_two_machines_with_the_mac_of_no_card_are_two_machines(door: Door) -> None:
    for number in (1, 2):
        document = json.loads(json.dumps(hardware(number)).replace(mac(number), "00:00:00:00:00:00"))
        pushed = await door.done("POST", "/v1/hardware", document)
        assert pushed["notes"][0]["key"] == "network.interfaces[0].dhcp.mac"
    listed = await door.done("GET", "/v1/hardware")
    assert [each["mac"] for each in listed] == ["", ""]


async def test_slips_at_every_level_of_a_document_of_2020_are_told_and_what_cannot_be_is_refused(door: Door) -> None:
    document: dict[str, Any] = {**hardware(1), "lables": {}}
    interface = document["network"]["interfaces"][0]
    interface["dhcp"] |= {"hostnam": "node1", "arch": "x86-64", "time_servers": ["ntp.lab.example"]}
    interface["netboot"]["allow_pxee"] = True
    pushed = await door.done("POST", "/v1/hardware", document)
    assert [each["key"] for each in pushed["notes"]] == [
        "lables",
        "network.interfaces[0].dhcp.hostnam",
        "network.interfaces[0].netboot.allow_pxee",
        "network.interfaces[0].dhcp.time_servers",
    ]
    assert "did you mean allow_pxe?" in pushed["notes"][2]["text"]
    status, refused = await door.ask("POST", "/v1/hardware?strict=true", document)
    assert (status, refused["problems"]) == (422, pushed["notes"][:3])
    in_lines = json.dumps(document, indent=1)
    pushed = await door.done("POST", "/v1/hardware", in_lines.encode())
    for each in pushed["notes"]:
        assert each["key"].rpartition(".")[2] in in_lines.splitlines()[each["line"] - 1]
    assert len((await door.done("POST", "/v1/hardware", in_lines.encode("utf-16")))["notes"]) == len(pushed["notes"])
    interface["dhcp"]["arch"] = "../../etc"
    status, refused = await door.ask("POST", "/v1/hardware", document)
    assert (status, "is no architecture: known are x86_64, aarch64" in str(refused)) == (422, True)


async def test_addresses_that_cannot_work_are_told_by_every_way_that_a_document_comes(door: Door) -> None:
    subnet = Subnet(network=IPv4Network("172.30.0.0/24"), interface="eth1")
    addressing = Addressing(mode="reservation", subnets=[subnet], own=[])

    def remarks_on(hardware: Hardware) -> Remarks:
        return hardware.remarks + Remarks(notes=tuple(notes_on(hardware, addressing)))

    body = HARDWARE.encode()
    told = (await push_documents(door.box.machines, body, remarks_on))["notes"]
    said = "192.168.56.43 is in none of the networks that are served here: 172.30.0.0/24 (eth1)"
    assert {"line": 14, "key": "spec.interfaces[0].dhcp.ip.address", "text": said} in told
    reading = Reading(remarks_on)
    reading.take(SourceFile(name="a.yaml", text=HARDWARE), Part(text=HARDWARE))
    (noted,) = [each for each in reading.documents().notes if "none of the networks" in each.text]
    assert (noted.key, noted.text) == ("a.yaml:14, spec.interfaces[0].dhcp.ip.address", said)


async def test_a_workflow_of_a_file_that_runs_elsewhere_is_told(door: Door) -> None:
    other = HARDWARE.replace("machine1", "machine2").replace(MAC, mac(2)).replace("56.43", "56.44")
    answer = await created(door, EVERYTHING)
    assert not any("filled from" in each["text"] for each in answer["notes"])
    await door.done("POST", "/v1/hardware", other.encode())
    text = WORKFLOW.replace("playground-workflow", "copied").replace(f"device_1: {MAC}", f'device_1: "{mac(2)}"')
    told = (await door.done("POST", "/v1/workflows", {"documents": text}))["notes"]
    (note,) = [each for each in told if "filled from" in each["text"]]
    assert note["key"] == "spec.hardwareRef"
    assert note["text"].startswith("its template is filled from machine machine1, and its actions run on machine2, ")


async def test_missing_images_are_told_by_each_way_and_refused_where_they_are_required(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    door.box.registry |= {"hello-world": "sha256:1"}
    missing = (
        "image tools/second:v1 is not in the registry: push it there, or `tinkbox image load` it from a file; "
        "if you mean Docker Hub's, write docker.io/tools/second:v1"
    )
    document = WORKFLOW.replace("hardwareRef: machine1", "hardwareRef: machine-1").replace(MAC, mac(1))
    document = document.replace("templateRef: ubuntu", "templateRef: hello")
    for asked in (
        {"template": "hello", "hardware": {"device_1": mac(1)}},
        {"template": "hello", "machine": "machine-1"},
        {"documents": document},
    ):
        status, problem = await door.ask("POST", "/v1/workflows", {**asked, "require_images": True})
        told = f"template hello: {missing}" if "documents" in asked else missing
        assert (status, [each["text"] for each in problem["problems"]]) == (422, [told])
    assert await door.done("GET", "/v1/workflows") == []
    made = await door.done("POST", "/v1/workflows", {"documents": document})
    assert made["notes"][-1] == {"text": missing}
    rollout = {"template": "hello", "machines": ["machine-1"], "dry_run": True}
    assert (await door.done("POST", "/v1/rollouts", rollout))["warnings"] == [missing]
    status, problem = await door.ask("POST", "/v1/rollouts", {**rollout, "require_images": True})
    assert (status, [each["text"] for each in problem["problems"]]) == (422, [missing])
    file = {"name": "a.yaml", "text": document.replace("playground-workflow", "another")}
    status, problem = await door.ask("POST", "/v1/apply", {"files": [file], "require_images": True})
    assert (status, [each["text"] for each in problem["problems"]]) == (422, [f"template hello: {missing}"])
    assert [each["text"] for each in (await door.done("POST", "/v1/apply", {"files": [file]}))["notes"]] == [missing]


SYSTEM = """{
    name: installer, image: "install-image:v1", timeout: 60, environment: {IMAGE: debian-13}
}"""


@pytest.mark.parametrize(
    ("action", "told", "refused"),
    [
        (f'{{name: a, image: "nowhere/at/all@{NOWHERE}", timeout: 60}}', f"image nowhere/at/all@{NOWHERE} is not in the registry: ", True),
        ('{name: a, image: "bad:v1", timeout: 60}', "image bad:v1: damaged", True),
        (SYSTEM, "system image debian-13 is not kept here: ", True),
        ('{name: a, image: "quay.io/x:v1", timeout: 60}', "not kept here: quay.io/x:v1: machines ask quay.io themselves", False),
    ],
)  # fmt: skip
async def test_what_no_machine_could_have_is_told_by_each_way_and_refused_where_it_is_required(
    door: Door, action: str, told: str, refused: bool
) -> None:
    text = HELLO[: HELLO.index("    actions:")] + f"    actions: [{action}]\n"
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": text})
    door.box.registry |= {"install-image:v1": NOWHERE, "bad:v1": NOWHERE}
    door.box.damaged |= {"bad:v1": "damaged"}
    door.box.lacking_systems.add("debian-13")
    create = {"template": "hello", "hardware": {"device_1": mac(1)}}
    if refused:
        status, problem = await door.ask("POST", "/v1/workflows", {**create, "require_images": True})
        assert (status, [each["text"][: len(told)] for each in problem["problems"]]) == (422, [told])
        (verdict,) = (await door.done("POST", "/v1/templates/validate", {"data": text, "require_images": True}))[
            "verdicts"
        ]
        assert [each["text"][: len(told)] for each in verdict["problems"]] == [told]
    rollout = {"template": "hello", "machines": ["machine-1"], "dry_run": True}
    plan = await door.done("POST", "/v1/workflows/plan", {"template": "hello", "machine": "machine-1"})
    assert plan["actions"][0]["image"]["digest"] in ("", NOWHERE if "@" not in action else "")
    document = WORKFLOW.replace("hardwareRef: machine1", "hardwareRef: machine-1").replace(MAC, mac(1))
    files = [{"name": "a.yaml", "text": document.replace("templateRef: ubuntu", "templateRef: hello")}]
    ways = {
        "validate": [
            each["text"] for each in (await door.done("POST", "/v1/templates/validate", {"data": text}))["notes"]
        ],
        "plan": [each["text"] for each in plan["obstacles" if refused else "notes"]],
        "rollout": (await door.done("POST", "/v1/rollouts", rollout))["warnings"],
        "apply": [each["text"] for each in (await door.done("POST", "/v1/apply", {"files": files}))["notes"]],
        "create": [each["text"] for each in (await door.done("POST", "/v1/workflows", create))["notes"]],
    }
    assert {way: [each[: len(told)] for each in said] for way, said in ways.items()} == {way: [told] for way in ways}
    if not refused:
        await door.done("POST", "/v1/workflows", {**create, "require_images": True})


async def test_validation_tells_missing_images_once_or_of_each_machine_where_they_are_required(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/hardware", hardware(2))
    door.box.registry |= {"hello-world": "sha256:1"}
    skipped = HELLO.replace("image: tools/second:v1", "image: tools/second:v1\n        if: 'false'")
    missing = (
        "image tools/second:v1 is not in the registry: push it there, or `tinkbox image load` it from a file; "
        "if you mean Docker Hub's, write docker.io/tools/second:v1"
    )
    told = await door.done("POST", "/v1/templates/validate", {"data": HELLO})
    assert [each["text"] for each in told["notes"]] == [missing]
    assert [each["problems"] for each in told["verdicts"]] == [[], []]
    told = await door.done("POST", "/v1/templates/validate", {"data": HELLO, "require_images": True})
    assert told["notes"] == []
    assert [[one["text"] for one in each["problems"]] for each in told["verdicts"]] == [[missing], [missing]]
    told = await door.done("POST", "/v1/templates/validate", {"data": skipped, "require_images": True})
    assert [each["problems"] for each in told["verdicts"]] == [[], []]


async def test_how_a_document_has_its_machine_boot_is_told_when_it_is_pushed(door: Door) -> None:
    boots = (
        '        ipxe: {contents: "#!ipxe\\nshell\\n", binary: x.efi}\n'
        "        osie: {baseURL: 'http://lab/osie', kernelParams: [quiet]}\n"
        "      isoboot: {sourceISO: 'http://lab/x.iso'}\n"
    )
    text = HARDWARE.replace("        allowPXE: true\n", f"        allowPXE: true\n{boots}")
    answer = await door.done("POST", "/v1/hardware", text.encode())
    told = {each["key"].rpartition("[0].")[2]: each["text"] for each in answer["notes"]}
    assert "also without a workflow" in told["netboot.ipxe.contents"]
    assert "there is no 'x.efi' here" in told["netboot.ipxe.binary"]
    assert "'http://lab/osie/vmlinuz-x86_64' by iPXE only" in told["netboot.osie"]
    assert "you power it on yourself" in told["isoboot"]
    assert {each["line"] for each in answer["notes"] if each["key"].endswith("contents")} == {18}
