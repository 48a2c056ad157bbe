"""Tinkerbell's Kubernetes documents: what is taken, what is left, and what is named."""

import json

import pytest

from tinkbox.engine.documents.kubernetes import has_objects, read_all, take, take_hardware
from tinkbox.model.documents.kubernetes import OBJECT_META, identity
from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.yaml_nodes import NodeReader, compose

HARDWARE = """\
apiVersion: "tinkerbell.org/v1alpha1"
kind: Hardware
metadata:
  name: machine1
  namespace: tink
spec:
  disks:
    - device: /dev/sda
  interfaces:
    - dhcp:
        arch: x86_64
        hostname: machine1
        ip:
          address: 192.168.56.43
          gateway: 192.168.56.4
          netmask: 255.255.255.0
        lease_time: 86400
        mac: 52:54:00:12:34:56
        name_servers:
          - 1.1.1.1
        uefi: true
      netboot:
        allowPXE: true
        allowWorkflow: true
"""
TEMPLATE = """\
apiVersion: "tinkerbell.org/v1alpha1"
kind: Template
metadata:
  name: ubuntu
spec:
  data: |
    version: "0.1"
    name: ubuntu
"""
WORKFLOW = """\
apiVersion: "tinkerbell.org/v1alpha1"
kind: Workflow
metadata: {name: install, namespace: tink}
spec:
  templateRef: ubuntu
  hardwareRef: machine1
  hardwareMap:
    device_1: 52:54:00:12:34:56
  bootOptions: {toggleAllowNetboot: true}
"""
EVERYTHING = f"---\n{HARDWARE}---\n{TEMPLATE}---\n{WORKFLOW}"


def problems_of(text: str, kind: str = "Hardware") -> list[str]:
    with pytest.raises(Invalid) as refusal:
        take_hardware(text) if kind == "Hardware" else take(text, kind)
    return [str(problem) for problem in refusal.value.problems]


@pytest.mark.parametrize(
    ("text", "has"),
    [(HARDWARE, True), (EVERYTHING, True), ('{"apiVersion": "v1", "kind": "List", "items": []}', True), ("", False),
     ('{"id": "x", "network": {"kind": 1, "apiVersion": 2}}', False), ('version: "0.1"\nname: x\n', False), ("{" * 99999, False),
     ("tasks:\n  apiVersion: x\n  kind: y\n", False), ("{{.x}}", False)],
)  # fmt: skip
def test_kubernetes_documents_are_known_by_their_head(text: str, has: bool) -> None:
    assert has_objects(text) is has


def test_a_machine_is_taken_as_it_stands_on_disk() -> None:
    (machine,), notes = take_hardware(HARDWARE)
    (interface,) = machine.interfaces
    assert (machine.id, machine.name) == (identity("tink", "machine1"), "machine1")
    assert (interface.mac, str(interface.address), interface.lease_seconds) == (
        "52:54:00:12:34:56",
        "192.168.56.43",
        86400,
    )
    assert interface.allow_pxe
    assert notes == ()
    assert machine.document["spec"]["disks"] == [{"device": "/dev/sda"}]


def test_each_command_takes_its_own_kind_and_names_the_rest() -> None:
    extra = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\n---\n- nothing\n"
    taken = take(EVERYTHING + extra, "Workflow")
    assert [each.name for each in taken.objects] == ["install"]
    assert taken.objects[0].spec["hardwareMap"] == {"device_1": "52:54:00:12:34:56"}
    assert [str(note) for note in taken.notes] == [
        "line 2: Hardware machine1 is left for `tinkbox hardware push`",
        "line 27: Template ubuntu is left for `tinkbox template create`",
        "line 46: Secret x is left for `tinkbox apply`",
        "line 50: what stands here means nothing here, and is left out",
        "`tinkbox apply -f FILE` takes all kinds of documents at once",
    ]
    assert len(take(WORKFLOW + extra, "Workflow").notes) == 2
    assert [each.spec["data"] for each in take(EVERYTHING, "Template").objects] == ['version: "0.1"\nname: ubuntu\n']


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("apiVersion: tinkerbell.org/v1alpha1\nkind: Hardwear", "kind: Hardwear of tinkerbell.org/v1alpha1 is unknown here; did you mean Hardware?"),
        ("kind: Hardware", "kind: Hardware of no apiVersion is unknown here; it needs an apiVersion, such as tinkerbell.org/v1alpha1"),
        ("apiVersion: ''\nkind: Hardware", "kind: Hardware of no apiVersion is unknown here; it needs an apiVersion, such as tinkerbell.org/v1alpha1"),
    ],
)  # fmt: skip
def test_what_may_be_meant_as_one_of_ours_is_refused_as_by_apply(head: str, told: str, *, strict: bool) -> None:
    text = f"{EVERYTHING}---\n{head}\nmetadata: {{name: z2}}\n"
    for kind in ("Hardware", "Template", "Workflow"):
        with pytest.raises(Invalid) as refusal:
            take_hardware(text, strict=strict) if kind == "Hardware" else take(text, kind, strict=strict)
        assert [str(each) for each in refusal.value.problems] == [f"line 46: {told}"]
    assert f"line 46: {told}" in map(str, read_all(text, strict=strict).problems)


def test_lists_are_taken_apart_also_in_json() -> None:
    documents = [NodeReader().plain(node, "") for node in compose(EVERYTHING)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}, indent=2)
    assert [each.name for each in take(text, "Workflow").objects] == ["install"]
    text = text.replace('"List"', '"HardwareList"')
    assert [each.name for each in take_hardware(text)[0]] == ["machine1"]


def test_what_is_not_honoured_is_named_and_taken_all_the_same() -> None:
    text = HARDWARE.replace("  disks:", "  bmcRef: {apiGroup: x, kind: Machine, name: bmc1}\n  disks:")
    text = text.replace(
        "      netboot:", "      isoboot: {sourceISO: 'http://iso'}\n      netboot:\n        rpi: {serialNum: '7'}"
    )
    machines, notes = take_hardware(text)
    assert len(machines) == 1
    assert [str(note).split(": ")[0] for note in notes] == [
        "line 7, spec.bmcRef",
        "line 23, spec.interfaces[0].isoboot",
        "line 25, spec.interfaces[0].netboot.rpi",
    ]
    assert all("not honoured: " in str(note) for note in notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("lease_time: 86400", "lease_time: long"), "line 17, spec.interfaces[0].dhcp.lease_time: expected a whole number, at most 4294967295, not 'long'"),
        (("allowPXE: true", "allowPXE: maybe"), "spec.interfaces[0].netboot.allowPXE: expected true or false"),
        (("mac: 52:54:00:12:34:56", "mac: 52:54"), "line 18, spec.interfaces[0].dhcp.mac: invalid mac"),
        (("  name: machine1\n", ""), "metadata.name: a name is required"),
        (("v1alpha1", "v1beta1"), "line 1, apiVersion: tinkerbell.org/v1beta1 of Hardware is not read: write it as tinkerbell.org/v1alpha1"),
        (("uefi: true", "boot_file_name: ztp-ä.cfg"), "line 21, spec.interfaces[0].dhcp.boot_file_name: expected at most 253 letters"),
        (("allowWorkflow: true", "ipxe: {url: 'nfs://lab/x'}"), "netboot.ipxe.url: expected a URL of http, https or tftp"),
        (("allowWorkflow: true", "osie: {kernelParams: ['a;b', 'c$d']}"), "netboot.osie.kernelParams: 'c$d' has what a boot loader takes for its own"),
        (("    - dhcp:", "    - dhcp: []\n    - dhcp:"), "line 10, spec.interfaces[0].dhcp: expected keys with values"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_line(change: tuple[str, str], said: str) -> None:
    assert change[0] in HARDWARE
    found = problems_of(HARDWARE.replace(*change, 1))
    assert any(said in problem for problem in found), found


def test_of_a_key_that_is_given_twice_the_last_counts_and_it_is_told() -> None:
    text = HARDWARE.replace(
        "mac: 52:54:00:12:34:56", "mac: 52:54:00:12:34:56\n        arch: a\n        arch: aarch64", 1
    )
    text = text.replace("arch: x86_64", "iface_name: x")
    (machine,), notes = take_hardware(text)
    key = "spec.interfaces[0].dhcp.arch"
    (note,) = [each for each in notes if each.key == key]
    assert (note.line, note.text) == (20, "key arch is given twice: the last one counts")
    assert machine.interfaces[0].architecture == "aarch64"
    (refused,) = read_all(text, strict=True).problems
    assert refused == note


def test_of_two_merged_mappings_under_one_key_the_last_counts() -> None:
    text = HARDWARE.replace(
        "mac: 52:54:00:12:34:56", "<<: {mac: 52:54:00:12:34:56}\n        <<: {mac: 52:54:00:12:34:57}"
    )
    (machine,), notes = take_hardware(text)
    assert machine.interfaces[0].mac == "52:54:00:12:34:57"
    assert "spec.interfaces[0].dhcp.<<" in [each.key for each in notes]


def test_what_is_not_honoured_of_an_interface_is_told_with_its_line() -> None:
    (machine,), notes = take_hardware(HARDWARE.replace("- 1.1.1.1", "- dns.example", 1))
    key = "spec.interfaces[0].dhcp.name_servers"
    (note,) = [each for each in notes if each.key == key]
    assert (note.line, note.text) == (20, "'dns.example' is no IP address, which a name server needs: left out")
    assert machine.interfaces[0].mac


def test_all_problems_of_all_documents_are_listed_at_once() -> None:
    wrong = HARDWARE.replace("  disks:", "  disks: x\n  more:").replace("52:54:00:12:34:56", "zz")
    assert [problem.split(",")[0] for problem in problems_of(f"{wrong}---\n{wrong}")] == [
        "line 7",
        "line 19",
        "line 33",
        "line 45",
    ]


def test_a_file_without_the_kind_says_what_it_has() -> None:
    assert problems_of(TEMPLATE) == [
        "line 1: Template ubuntu is left for `tinkbox template create`",
        "`tinkbox apply -f FILE` takes all kinds of documents at once",
    ]


def test_how_a_workflow_would_boot_is_named() -> None:
    text = WORKFLOW.replace(
        "toggleAllowNetboot: true", "toggleAllowNetboot: true, bootMode: isoboot, isoURL: http://iso"
    )
    assert [str(note).split(":")[0] for note in take(text, "Workflow").notes] == [
        "line 9, spec.bootOptions.bootMode",
        "line 9, spec.bootOptions.isoURL",
    ]


ANNOTATED = WORKFLOW.replace("namespace: tink}", "namespace: tink, annotations: {tinkerbell.org/disabled: ''}}")
OF_V1ALPHA2 = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Workflow
metadata: {name: install, annotations: {tinkerbell.org/disabled: ''}}
spec: {tasks: []}
"""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"{WORKFLOW}  disabled: true\n", "line 10, spec.disabled"),
        (f"{WORKFLOW}  disabled: yes\n", "line 10, spec.disabled"),
        (ANNOTATED, "line 3, metadata.annotations"),
        (OF_V1ALPHA2, "line 3, metadata.annotations"),
        (
            OF_V1ALPHA2.replace(", annotations: {tinkerbell.org/disabled: ''}", "").replace(
                "{tasks", "{disabled: true, tasks"
            ),
            "line 4, spec.disabled",
        ),
    ],
)
def test_a_workflow_that_waits_is_left_out_with_the_way_out(text: str, place: str) -> None:
    read = read_all(f"{text}---\n{HARDWARE}")
    assert ([each.kind for each in read.objects], read.problems, read.whole) == (["Hardware"], (), True)
    assert [each.name for each in read.left_out] == ["install"]
    (note,) = read.notes
    assert str(note).startswith(f"{place}: Workflow install is left out: ")
    what = "this annotation" if "annotations" in place else "disabled"
    assert note.text.endswith(
        f"a workflow cannot be held back here: give its document without {what} when it is to run"
    )


def test_a_command_refuses_what_would_be_left_out_where_it_has_nothing_else() -> None:
    waiting, textless = f"{WORKFLOW}  disabled: true\n", TEMPLATE.partition("  data:")[0] + "  ipxe: x\n"
    assert problems_of(waiting, "Workflow") == [
        "line 10, spec.disabled: a workflow cannot be held back here: give its document without disabled when it is to run"
    ]
    assert problems_of(textless, "Template") == ["line 6, spec.data: the text is required"]
    for text, kind, other in ((waiting, "Workflow", WORKFLOW), (textless, "Template", TEMPLATE)):
        taken = take(f"{text}---\n{other}", kind)
        assert len(taken.objects) == 1
        assert "is left out: " in taken.notes[-1].text
    assert take(f"{WORKFLOW}  disabled: false\n", "Workflow").notes == ()


@pytest.mark.parametrize("data", ["", "  data: ''\n", "  data:\n", "  ipxe: |\n    #!ipxe\n"])
def test_a_template_without_a_text_is_left_out_with_what_it_has_instead(data: str) -> None:
    head = TEMPLATE.partition("  data:")[0]
    read = read_all(f"{head}{data}---\n{HARDWARE}")
    assert ([each.kind for each in read.objects], read.problems, read.whole) == (["Hardware"], (), True)
    assert read.notes[-1].text == "Template ubuntu is left out: the text is required"
    assert any("unknown key ipxe is ignored" in each.text for each in read.notes) is ("ipxe" in data)


@pytest.mark.parametrize("true", ["true", "True", "yes", "YES", "on", "On", "y"])
@pytest.mark.parametrize("false", ["false", "FALSE", "no", "No", "off", "OFF", "n"])
def test_flags_are_those_of_yaml_1_1(true: str, false: str) -> None:
    text = HARDWARE.replace("uefi: true", f"uefi: {true}").replace("allowPXE: true", f"allowPXE: {false}")
    (machine,), notes = take_hardware(text)
    interface = machine.document["spec"]["interfaces"][0]
    assert (interface["dhcp"]["uefi"], interface["netboot"]["allowPXE"], notes) == (True, False, ())
    assert not machine.interfaces[0].allow_pxe


def test_a_quoted_yes_is_a_text() -> None:
    found = problems_of(HARDWARE.replace("uefi: true", "uefi: 'yes'"))
    assert found == ["line 21, spec.interfaces[0].dhcp.uefi: expected true or false, not 'yes'"]


def test_a_file_that_would_take_long_to_read_is_refused() -> None:
    with pytest.raises(TooLarge, match="split them"):
        take(HARDWARE + "#" * (1024 * 1024), "Hardware")


@pytest.mark.parametrize("kind", ["Hardware", "Template", "Workflow"])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("lables: {rack: r1}", "metadata.lables: unknown key lables is ignored; did you mean labels?"),
        ("label: {rack: r1}", "metadata.label: unknown key label is ignored; did you mean labels?"),
        ("annotation: {a: b}", "metadata.annotation: unknown key annotation is ignored; did you mean annotations?"),
    ],
)
def test_an_unknown_key_is_told_with_what_was_meant_and_refused_where_that_is_wanted(
    kind: str, wrong: str, said: str
) -> None:
    spec = "{data: x}" if kind == "Template" else "{}"
    text = f"apiVersion: tinkerbell.org/v1alpha1\nkind: {kind}\nmetadata:\n  name: l1\n  {wrong}\nspec: {spec}\n"
    assert [str(each) for each in take(text, kind).notes] == [f"line 5, {said}"]
    assert [str(each) for each in read_all(text).notes] == [f"line 5, {said}"]
    with pytest.raises(Invalid) as refusal:
        take(text, kind, strict=True)
    assert [str(each) for each in refusal.value.problems] == [f"line 5, {said}"]
    assert [str(each) for each in read_all(text, strict=True).problems] == [f"line 5, {said}"]


def test_an_unknown_field_is_left_out_of_the_document() -> None:
    text = HARDWARE.replace("lease_time", "leaseTime")
    (taken,) = take(text, "Hardware").objects
    assert "leaseTime" not in taken.spec["interfaces"][0]["dhcp"]
    assert [str(each) for each in take(text, "Hardware").notes] == [
        "line 17, spec.interfaces[0].dhcp.leaseTime: unknown key leaseTime is ignored; did you mean lease_time?"
    ]


def test_documents_are_yaml_as_go_reads_it() -> None:
    text = f"\ufeff{WORKFLOW}".replace("kind: Workflow", "kind:\tWorkflow\t# c")
    assert has_objects(text)
    assert [each.name for each in take(text, "Workflow").objects] == [
        each.name for each in take(WORKFLOW, "Workflow").objects
    ]


def test_an_annotation_of_our_own_that_means_nothing_is_refused_and_others_are_free() -> None:
    head = "apiVersion: tinkerbell.org/v1alpha1\nkind: Hardware\nmetadata:\n  name: l1\n"
    text = f"{head}  annotations:\n    a/b: c\n    tinkbox.internal/retire: x\n    tinkbox.internal/retired: x\n"
    (problem,) = read_all(text).problems
    key, told = "metadata.annotations.tinkbox.internal/retire", "did you mean tinkbox.internal/retired?"
    assert str(problem) == f"line 7, {key}: unknown key tinkbox.internal/retire; {told}"


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (TEMPLATE, "Template", ["annotation a/b is not kept: a Template is stored without annotations"]),
        (WORKFLOW, "Workflow", ["annotation a/b is not kept: a Workflow of v1alpha1 is stored without annotations"]),
        (HARDWARE, "Hardware", []),
    ],
)
def test_annotations_that_are_not_kept_are_told(text: str, kind: str, told: list[str]) -> None:
    ours = "tinkbox.internal/parameters: '{}', " if kind == "Workflow" else ""
    given = f"{{annotations: {{kubectl.kubernetes.io/last-applied-configuration: x, {ours}a/b: c}}, name:"
    one_line = text.replace("metadata:\n  name:", "metadata: {name:").replace("ubuntu\nspec", "ubuntu}\nspec")
    one_line = one_line.replace("machine1\n  namespace: tink\n", "machine1, namespace: tink}\n")
    found = [
        each for each in read_all(one_line.replace("{name:", given, 1)).notes if each.key == "metadata.annotations"
    ]
    assert [(each.line, each.text) for each in found] == [(3, each) for each in told]
    many = read_all(one_line.replace("{name:", given.replace("a/b: c", "a/b: c, d: e, f: g"), 1)).notes
    assert all("annotations a/b and 2 more are not kept" in each.text for each in many if each.key)


def test_the_metadata_may_have_whatever_kubernetes_keeps_there() -> None:
    kept = ", ".join(f"{each}: null" for each in OBJECT_META if each != "name")
    text = f"apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata: {{name: x, {kept}}}\nspec: {{data: y}}\n"
    assert take(text, "Template").objects[0].content["metadata"] == {**dict.fromkeys(OBJECT_META), "name": "x"}
    told = "line 3, metadata: expected keys with values: name, generateName, namespace, "
    assert any(each.startswith(told) for each in problems_of(text.replace(f"{{name: x, {kept}}}", "x"), "Template"))
