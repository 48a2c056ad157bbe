"""Files of all kinds at once: every document is taken, told as left out, or a problem."""

import json

import pytest

from tests.integration.engine.appliance import HELLO, mac
from tinkbox.engine.documents import kubernetes
from tinkbox.engine.documents.kubernetes import (
    HARDWARE_2020,
    MAX_NESTED,
    PART,
    has_objects,
    parts_of,
    read_all,
    read_part,
    take,
    take_hardware,
)
from tinkbox.model.applying import MAX_DOCUMENT
from tinkbox.model.documents.kubernetes import kinds_of, versions_of
from tinkbox.model.errors import Invalid

MACHINE = (
    "apiVersion: tinkerbell.org/v1alpha1\nkind: Hardware\nmetadata: {name: a}\nspec: {interfaces: [{dhcp: {mac: x}}]}\n"
)
OF_2020 = {"id": "x", "network": {"interfaces": [{"dhcp": {"mac": "y"}}]}, "metadata": "\U0001f600\t"}


def kinds(text: str) -> list[str]:
    return [each.kind for each in read_all(text).objects]


def problems(text: str) -> list[str]:
    return [str(each) for each in read_all(text).problems]


def test_kinds_and_formats_stand_beside_each_other() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [OF_2020, json.loads(json.dumps(OF_2020))]}
    assert kinds(f"{MACHINE}---\n---\n{json.dumps(OF_2020)}\n") == ["Hardware", HARDWARE_2020]
    assert kinds(json.dumps(listed, indent="\t")) == [HARDWARE_2020] * 2
    assert read_all(json.dumps(listed)).objects[1].content == OF_2020
    assert (kinds(""), kinds("---\n"), kinds("# nothing\n")) == ([], [], [])


@pytest.mark.parametrize(
    "version",
    ["v1", "apps/v1", "rbac.authorization.k8s.io/v1", "cluster.x-k8s.io/v1beta1", "helm.toolkit.fluxcd.io/v2", "kro.run/v1", "x/y"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["Namespace", "Workflow"])
def test_what_is_of_another_group_is_left_out_and_told(version: str, kind: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n"
    read = read_all(text)
    told = f"line 1: {kind} x of {version} is not Tinkerbell's, and is left out"
    assert ([str(each) for each in read.notes], read.objects, read.problems, read.whole) == ([told], (), (), True)
    assert str(take(f"{text}---\n{MACHINE}", "Hardware").notes[0]) == told


def test_a_near_miss_of_a_group_is_refused_by_those_who_are_strict() -> None:
    slip = MACHINE.replace("tinkerbell.org", "tinkerbel.org")
    (problem,) = read_all(slip, strict=True).problems
    assert (problem.line, problem.key) == (1, "apiVersion")
    with pytest.raises(Invalid) as refused:
        take(f"{MACHINE}---\n{slip}", "Hardware", strict=True)
    assert [each.line for each in refused.value.problems] == [6]


def test_two_machines_of_a_file_that_want_one_address_are_refused_with_both_lines() -> None:
    first = MACHINE.replace("mac: x", "mac: 08:00:27:00:00:01")
    with pytest.raises(Invalid) as refused:
        take_hardware(f"{first}---\n{first.replace('name: a', 'name: b')}")
    assert [str(each) for each in refused.value.problems] == [
        "line 6: 08:00:27:00:00:01 is claimed by hardware a at line 1 too: leave it to one of them"
    ]


def test_a_group_that_is_nearly_tinkerbells_is_told_as_such() -> None:
    told = read_all(MACHINE.replace("tinkerbell.org", "tinkerbel.org")).notes[0].text
    assert told.endswith("is left out; did you mean tinkerbell.org?")
    told = read_all("apiVersion: bmc.tinkerbel.org/v1alpha1\nkind: Machine\n").notes[0].text
    assert told.endswith("is left out; did you mean bmc.tinkerbell.org?")
    for group in ("compute.tinkerbell.org", "bcm.tinkerbell.org"):  # the first is of Crossplane's provider
        read = read_all(MACHINE.replace("tinkerbell.org", group))
        (note,), problems_of = read.notes, read.problems
        assert (note.text.partition("; ")[2], problems_of) == ("did you mean tinkerbell.org?", ())
    (note,) = read_all("apiVersion: compute.tinkerbell.org/v1alpha1\nkind: Zzz\n").notes
    assert note.text.endswith("is left out")


@pytest.mark.parametrize(
    ("kind", "today"), [("BaseboardManagement", "Machine"), ("BMCJob", "Job"), ("BMCTask", "Task")]
)
def test_kinds_of_2022_are_left_out_and_told(kind: str, today: str) -> None:
    text = f"apiVersion: bmc.tinkerbell.org/v1alpha1\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{}}\n---\n{MACHINE}"
    read = read_all(text)
    assert ([each.kind for each in read.objects], read.problems, read.whole) == (["Hardware"], (), True)
    assert str(read.notes[0]).startswith(f"line 1: {kind} x is left out: bmc.tinkerbell.org calls this kind {today} ")


def test_hardware_before_2020_is_left_out_with_what_takes_its_place() -> None:
    older = {"id": "x", "name": "node1", "network_ports": [], "ip_addresses": []}
    read = read_all(f"{json.dumps(older)}\n{json.dumps(OF_2020)}")
    assert ([each.kind for each in read.objects], read.problems, read.whole) == ([HARDWARE_2020], (), True)
    assert str(read.notes[0]).startswith("line 1: hardware in the form before 2020's is left out: network_ports and")
    assert kinds(json.dumps({**older, "network": {}})) == [HARDWARE_2020]


def test_left_out_documents_of_a_later_part_have_the_lines_of_the_whole_text() -> None:
    padding = f"# {'x' * PART}\n---\n"
    text = "apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata: {name: a}\nspec: {}\n"
    found = [one for each in parts_of(f"{MACHINE}---\n{padding}{text}") for one in read_part(each).left_out]
    assert [each.lines[""] for each in found] == [8]


@pytest.mark.parametrize(
    ("group", "kind"), [("bmc.", "Machine"), ("bmc.", "Job"), ("bmc.", "Task"), ("", "WorkflowRuleSet")]
)
def test_what_tinkerbell_has_beside_is_read_and_no_other_version_of_it(group: str, kind: str) -> None:
    text = f"apiVersion: {group}tinkerbell.org/v1alpha1\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{}}\n"
    read = read_all(f"{text}---\n{MACHINE}")
    shape = f"bmc {kind}" if group else kind
    assert ([each.kind for each in read.objects], read.problems) == ([shape, "Hardware"], ())
    (found,) = problems(text.replace("v1alpha1", "v1"))
    assert found == (
        f"line 1, apiVersion: {group}tinkerbell.org/v1 of {kind} is not read: write it as "
        + " or ".join(f"{group}tinkerbell.org/{each}" for each in versions_of(f"{group}tinkerbell.org", kind))
    )


@pytest.mark.parametrize("kind", ["WorkflowRuleSet", "Policy"])
def test_a_command_of_another_kind_leaves_it_to_apply(kind: str) -> None:
    version = "v1alpha2" if kind == "Policy" else "v1alpha1"
    taken = take(
        f"apiVersion: tinkerbell.org/{version}\nkind: {kind}\nmetadata: {{name: x}}\n---\n{MACHINE}", "Hardware"
    )
    assert str(taken.notes[0]) == f"line 1: {kind} x is left for `tinkbox apply`"


@pytest.mark.parametrize("text", ["- {id: x, name: node7, labels: {}}\n", '{"id": "x", "name": "hello"}'])
def test_what_a_list_prints_is_told_from_documents(text: str) -> None:
    (told,) = problems(text)
    assert told.endswith("`tinkbox export` prints documents that can be applied")


def test_a_mac_of_no_card_is_no_machines() -> None:
    (machine,), notes = take_hardware(MACHINE.replace("mac: x", "mac: 01-00-5E-00-00-01"))
    assert machine.interfaces == ()
    assert "01:00:5e:00:00:01 is the address of no network card" in notes[0].text


def test_a_list_without_a_kind_is_its_documents() -> None:
    listed = [json.loads(json.dumps(OF_2020)), {"apiVersion": "v1", "kind": "Namespace"}, OF_2020]
    assert kinds(json.dumps(listed)) == [HARDWARE_2020] * 2
    assert read_all(json.dumps(listed)).objects[1].content == OF_2020
    entry = "- " + MACHINE.strip().replace("\n", "\n  ") + "\n"
    read = read_all(entry + entry)
    assert [each.kind for each in read.objects] == ["Hardware"] * 2
    assert read.objects[1].lines["metadata"] == 7


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("apiVersion: bmc.tinkerbell.org/v1alpha1\nkind: Machin\n", "kind: Machin of bmc.tinkerbell.org/v1alpha1 is unknown here; did you mean Machine?"),
        ("apiVersion: x.tinkerbell.org/v1\n", "kind: (none) of x.tinkerbell.org/v1 is unknown here; it needs a kind"),
        ('name: x\ntasks:\n  - worker: "{{.device_1}}"\n', "`tinkbox template create --file FILE` takes it"),
        ("version: 1\ntasks:\n{% for each in x %}\n", "`tinkbox template create --file FILE` takes it"),
        ("apiVersion: tinkerbell.org/v1alpha1\nkind: Hardwear\n", "kind: Hardwear of tinkerbell.org/v1alpha1 is unknown here; did you mean Hardware?"),
        ("kind: Hardware\nmetadata: {name: x}\n", "of no apiVersion is unknown here; it needs an apiVersion, such as tinkerbell.org/v1alpha1"),
        ("kind: Workflow\nmetadata: {name: x}\n", "such as tinkerbell.org/v1alpha1"),
        ("kind: Job\nmetadata: {name: x}\n", "such as bmc.tinkerbell.org/v1alpha1"),
        ("kind: Task\nmetadata: {name: x}\n", "such as tinkerbell.org/v1alpha2 or bmc.tinkerbell.org/v1alpha1"),
        ("kind: Zzz\nmetadata: {name: x}\n", "such as tinkerbell.org/v1alpha1"),
        ("apiVersion: v1\n", "kind: (none) of v1 is unknown here; it needs a kind"),
        ("apiVersion: tinkerbell.org/v1beta1\nkind: Hardware\nmetadata: {name: x}\n", "write it as tinkerbell.org/v1alpha1 or tinkerbell.org/v1alpha2"),
        ("name: x\n", "neither a Kubernetes document"),
        ("- 1\n", "neither a Kubernetes document"),
        ("[]", "neither a Kubernetes document"),
        ('{"id": NaN, "network": 1}', "NaN is no number in JSON"),
        ('{"id": 1,\n "network" 1}', "line 2: invalid json"),
        ("a: [\n", "not valid YAML"),
        ("id: x\nnetwork: .nan\n", "no number in JSON"),
        ("x" * (MAX_DOCUMENT + 1), "more than 1024 KiB"),
    ],
)  # fmt: skip
def test_everything_else_is_a_problem(text: str, told: str) -> None:
    (found,) = problems(text)
    assert told in found


@pytest.mark.parametrize(
    ("version", "kind", "told"),
    [
        ("tinkerbell.org/v1alpha1", "BMC", "known here: Hardware, Template, Workflow, WorkflowRuleSet, Policy, Task"),
        ("tinkerbell.org/v1alpha2", "BMC", "known here: Hardware, Template, Workflow, WorkflowRuleSet, Policy, Task"),
        ("bmc.tinkerbell.org/v1alpha9", "Zzz", "known here: Machine, Job, Task"),
        ("tinkerbell.org/v1alpha2", "WorkflowRun", "did you mean Workflow?"),
    ],
)
def test_a_kind_of_another_tinkerbell_is_left_out_and_refused_by_who_is_strict(
    version: str, kind: str, told: str
) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n---\n{MACHINE}"
    said = f"{kind} x of {version} is left out, for this kind is unknown here; {told}"
    everything = read_all(text)
    assert (everything.problems, everything.whole, [each.kind for each in everything.objects]) == (
        (),
        True,
        ["Hardware"],
    )
    assert str(everything.notes[0]) == f"line 1: {said}"
    kinds_left_out = [each.kubernetes_kind for each in everything.left_out if each.name == "x"]
    assert kinds_left_out == [kind, *kinds_of(version.partition("/")[0])], "it may be the successor of any of them"
    assert f"line 1: {said}" in [str(each) for each in take(text, "Hardware").notes]
    assert [str(each) for each in read_all(text, strict=True).problems] == [f"line 1, kind: {said}"]


def test_what_stands_where_something_else_is_expected_is_told_by_what_was_meant() -> None:
    head = "apiVersion: tinkerbell.org/v1alpha1\nkind: Workflow\nmetadata: {name: x}\nspec:\n"
    for spec, said in (
        ("  templateRef:\n    name: x\n", "line 6, spec.templateRef: expected text"),
        ("  templateRef: {{.x}}\n", "line 5, spec.templateRef: expected text (quote it if it begins with { or [)"),
        ("  hardwareMap:\n    - a\n", "line 6, spec.hardwareMap: expected keys with values"),
    ):
        assert said in problems(head + spec)


def test_a_document_that_is_small_only_because_of_aliases_is_refused() -> None:
    nested = "".join(f"x{each}: &x{each} [*x{each - 1}, *x{each - 1}]\n" for each in range(1, 40))
    (found,) = problems(f"id: x\nnetwork: 1\nx0: &x0 [a, a]\n{nested}")
    assert "more than" in found


WORKFLOW = "apiVersion: tinkerbell.org/v1alpha1\nkind: Workflow\nmetadata:\n  name: {name}\n  namespace: {namespace}\nspec: {{templateRef: x}}\n"
ODD = ["yam\0l", "\x1b[2J", "a\nb", "..", "-rf", " "]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", ["Workflow", "Hardware"])
def test_names_and_namespaces_that_are_none_are_problems_at_their_lines(odd: str, kind: str) -> None:
    text = WORKFLOW.replace("Workflow", kind).format(name=json.dumps(odd), namespace=json.dumps(odd))
    found = [each for each in problems(text) if "is no name" in each]
    assert [each.partition(": ")[0] for each in found] == ["line 4, metadata.name", "line 5, metadata.namespace"]
    assert all(each.isprintable() for each in found)


def test_a_name_that_is_empty_is_none_and_an_empty_namespace_is_the_default() -> None:
    (found,) = problems(WORKFLOW.format(name='""', namespace="x"))
    assert found == "line 4, metadata.name: a name is required"
    assert read_all(WORKFLOW.format(name="x", namespace='""')).objects[0].namespace == "default"


@pytest.mark.parametrize("kind", ["Workflow", "Hardware", "Template"])
@pytest.mark.parametrize(
    "fields", ["metadata: {name: HALF}", "metadata: {name: a, namespace: HALF}", "spec: {agentID: HALF}"]
)
def test_half_of_a_character_is_a_problem_of_every_kind(kind: str, fields: str) -> None:
    text = f"apiVersion: tinkerbell.org/v1alpha1\nkind: {kind}\n" + fields.replace("HALF", '"a\\uD800b"')
    (found,) = problems(text)
    assert found.startswith("line 3, ")
    assert "half of a character" in found
    document = {"apiVersion": "tinkerbell.org/v1alpha1", "kind": kind, "metadata": {"name": "a\ud800b"}}
    (found,) = problems(json.dumps(document, indent=1))
    assert found.startswith("line 5, metadata.name: half of a character")
    for take_in in (lambda text: take(text, kind), take_hardware):
        with pytest.raises(Invalid) as refused:
            take_in(text)
        assert "half of a character" in str(refused.value.problems[0])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("head", ["", "---\n", "# first\n--- # second\n"])
def test_a_large_text_is_the_same_in_parts(head: str, end: str) -> None:
    name = "apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata: {name: t%d}\nspec:\n  data: |\n"
    block = "    --- no mark\n    a\x85    b\n" * 200
    text = (head + "---\n".join(name % number + block for number in range(60))).replace("\n", end)
    parts = list(parts_of(text))
    assert len(parts) > 4
    assert "".join(each.text for each in parts) == text
    assert max(len(each.text) for each in parts) <= PART
    whole = read_all(text)
    assert len(whole.objects) == 60
    assert [one for each in parts for one in read_part(each).objects] == list(whole.objects)
    assert [one.lines for each in parts for one in read_part(each).objects] == [each.lines for each in whole.objects]


def test_what_has_no_marks_to_go_by_is_one_part() -> None:
    text = "%YAML 1.1\n---\n" + "a: b\n---\n" * PART
    assert [each.text for each in parts_of(text)] == [text]


NODE = {
    "apiVersion": "tinkerbell.org/v1alpha1",
    "kind": "Hardware",
    "metadata": {"name": "a"},
    "spec": {"interfaces": []},
}


def stream(count: int, indent: int | None = None, between: str = "\n") -> str:
    return between.join(json.dumps({**NODE, "metadata": {"name": f"n{each}"}}, indent=indent) for each in range(count))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("between", ["", "\n", "\r\n\t", "\n---\n", "\n--- \n\n---\n"])
def test_documents_of_json_stand_one_after_the_other(between: str, indent: int | None) -> None:
    text = f"\n{stream(3, indent, between)}{between}"
    read = read_all(text)
    assert ([each.name for each in read.objects], read.problems) == (["n0", "n1", "n2"], ())
    lines = text.splitlines()
    named = ["".join(lines[each.lines["metadata"] - 1 :][:2]) for each in read.objects]
    assert all(f'"n{number}"' in line for number, line in enumerate(named))
    assert [each.name for each in take(text, "Hardware").objects] == ["n0", "n1", "n2"]
    assert has_objects(text)


def test_a_stream_of_json_has_lists_and_what_is_of_2020_too() -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [OF_2020, NODE]})
    text = f"{json.dumps(OF_2020)}{listed}[]{json.dumps([NODE, OF_2020])}"
    assert kinds(text) == [HARDWARE_2020, HARDWARE_2020, "Hardware", "Hardware", HARDWARE_2020]
    assert [each.content for each in read_all(text).objects if each.kind == HARDWARE_2020] == [OF_2020] * 3


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('{"kind": }', "line 4: invalid json: column 10: expected a value"),
        ('{"kind": 1},\n{"kind": 2}', "line 4: invalid json: column 12: expected the end of the document"),
        ("kind: Hardware", "line 4: invalid json: column 1: expected the end of the document"),
        ('---{"kind": 1}', "line 4: invalid json: column 1: expected the end of the document"),
        ('{"a": {"b": NaN}}', "line 4: invalid json: a.b: NaN is no number in JSON"),
        ("[" * 100 + "]" * 100, "line 4: invalid json: more than 64 values within each other"),
        ("[" * 100 + "x", "line 4: invalid json: more than 64 values within each other"),
        ("[" * 5000, "line 4: invalid json: more than 64 values within each other"),
        ("[" * 99999, "line 4: invalid json: more than 64 values within each other"),
        ('{"kind": "x', "line 4: invalid json: column 10: a text that begins here has no end"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_stream_of_json_has_its_line(wrong: str, told: str) -> None:
    text = f"{stream(3)}\n{wrong}"
    assert problems(text) == [told]
    with pytest.raises(Invalid) as refused:
        take(text, "Hardware")
    assert [str(each) for each in refused.value.problems] == [told]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_large_stream_of_json_is_read_in_parts(monkeypatch: pytest.MonkeyPatch, indent: int | None) -> None:
    """Wherever the window in which ends are looked for is cut."""
    monkeypatch.setattr(kubernetes, "PART", 700)
    text = "\n" + stream(60, indent, "\n---\n") + "\n"
    whole = read_all(text)
    for most in range(900, 900 + len(text) // 59):
        monkeypatch.setattr(kubernetes, "MAX_DOCUMENT", most)
        parts = list(parts_of(text))
        assert len(parts) > 4
        assert text.strip() == "".join(each.text for each in parts).strip()
        assert max(len(each.text) for each in parts) <= 700
        read = [one for each in parts for one in read_part(each).objects]
        assert [each.lines for each in read] == [each.lines for each in whole.objects]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('{"kind": }', "column 10: expected a value"),
        ("kind: x", "expected the end of the document"),
        ('{"a": NaN}', "a: NaN is no number in JSON"),
        ("[" * 9999, "more than 64 values within each other"),
        (f'{{"a": "{"x" * MAX_DOCUMENT}"}}', "more than 1024 KiB in one document"),
        (json.dumps([0] * (MAX_DOCUMENT // 2)), "more than 1024 KiB in one document"),
    ],
)
def test_one_that_is_wrong_in_a_large_stream_of_json_is_told_with_its_line(wrong: str, told: str) -> None:
    text = f"{stream(2000)}\n{wrong}\n{stream(20_000)}"
    found = [one for each in parts_of(text) for one in read_part(each).problems]
    assert len(found) <= 2
    assert told in str(found[0])
    if "1024 KiB" not in told:
        assert found[0].line == 2001


def test_a_key_of_2020_that_is_nearly_one_of_ours_is_told() -> None:
    document = {**OF_2020, "lables": {"rack": "r1"}, "retire": "x", "network_id": 1, "owner": "ann"}
    read = read_all(json.dumps(document, indent=1))
    assert [each.content for each in read.objects] == [document]
    assert [str(each) for each in read.notes] == [
        "line 13, lables: unknown key lables; did you mean labels?",
        "line 16, retire: unknown key retire; did you mean retired?",
    ]
    assert read_all(json.dumps({**document, "labels": {}, "retired": "x"})).notes == ()


def listed(*items: object, kind: str = "List") -> dict[str, object]:
    return {"apiVersion": "tinkerbell.org/v1alpha1" if kind == "HardwareList" else "v1", "kind": kind, "items": items}


def of_kind(kind: str, spec: object) -> dict[str, object]:
    return {**NODE, "kind": kind, "spec": spec}


MACHINE_11 = of_kind("Hardware", {"interfaces": [{"dhcp": {"mac": mac(11)}}]})
NESTED = [
    listed(MACHINE_11, listed(of_kind("Template", {"data": HELLO}), listed(of_kind("Workflow", {"templateRef": "a"})))),
    [MACHINE_11, [of_kind("Template", {"data": HELLO})], listed(of_kind("Workflow", {"templateRef": "a"}))],
    listed(listed(MACHINE_11, kind="HardwareList"), [listed(of_kind("Template", {"data": HELLO}), kind="TemplateList")],
           of_kind("Workflow", {"templateRef": "a"})),
]  # fmt: skip


@pytest.mark.parametrize("nested", NESTED)
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("mark", ["", "--- # yaml\n"])
def test_lists_within_lists_are_read_wherever_documents_are(nested: object, indent: int | None, mark: str) -> None:
    text = mark + json.dumps(nested, indent=indent)
    assert has_objects(text)
    read = read_all(text, strict=True)
    assert ([each.kind for each in read.objects], read.problems, read.notes) == (
        ["Hardware", "Template", "Workflow"],
        (),
        (),
    )
    for kind in ("Template", "Workflow"):
        assert [each.kind for each in take(text, kind).objects] == [kind]
    assert [each.name for each in take_hardware(text)[0]] == ["a"]
    if indent:
        lines = text.splitlines()
        assert all('"metadata": {' in lines[each.lines["metadata"] - 1] for each in read.objects)


def within_lists(depth: int, document: object = NODE) -> str:
    for _ in range(depth):
        document = listed(document)
    return json.dumps(document, indent=1)


def test_lists_stand_within_each_other_to_a_depth_and_are_refused_beyond_it() -> None:
    assert kinds(within_lists(MAX_NESTED)) == ["Hardware"]
    read = read_all(within_lists(MAX_NESTED + 1))
    (told,) = map(str, read.problems)
    assert told == (
        f"line {4 * MAX_NESTED + 1}: more than {MAX_NESTED} lists of documents within each other: let the documents stand beside "
        "each other"
    )
    assert not read.whole
    for text in (within_lists(MAX_NESTED + 1), within_lists(MAX_NESTED + 3)):
        assert has_objects(text)
        with pytest.raises(Invalid) as refused:
            take_hardware(text)
        assert "lists of documents within each other" in str(refused.value.problems[0])


def test_aliases_of_lists_do_not_make_many_documents_of_a_small_text() -> None:
    levels = "".join(f"- &x{each} [{', '.join([f'*x{each - 1}'] * 9)}]\n" for each in range(1, MAX_NESTED))
    (told,) = problems(f"- &x0 [{{id: x, network: 1}}]\n{levels}")
    assert told == "line 1: an alias repeats a list of documents: write them where they belong"
    (told,) = problems("&a {apiVersion: v1, kind: List, items: [*a]}\n")
    assert "an alias repeats a list of documents" in told


@pytest.mark.parametrize("kind", ["List", "HardwareList"])
@pytest.mark.parametrize("items", ["{}", "x", "{a: {kind: Hardware}}", "'[]'"])
def test_a_list_without_documents_is_refused(kind: str, items: str) -> None:
    head = "tinkerbell.org/v1alpha1" if kind == "HardwareList" else "v1"
    read = read_all(f"{MACHINE}---\napiVersion: {head}\nkind: {kind}\nitems: {items}\n")
    assert ([str(each) for each in read.problems], read.whole) == (
        ["line 8, items: expected a list of documents"],
        False,
    )
    assert read_all(f"apiVersion: {head}\nkind: {kind}\nitems:\n").problems == ()


@pytest.mark.parametrize(
    "wrapped",
    [
        {"apiVersion": "v1", "kind": "list", "items": [NODE]},
        {"apiVersion": "template.openshift.io/v1", "kind": "Template", "metadata": {"name": "x"}, "objects": [[NODE]]},
        {"apiVersion": "x/y", "kind": "Object", "spec": {"manifest": {**NODE, "apiVersion": "tinkerbel.org/v1"}}},
        {"apiVersion": "tinkerbell.org/v1", "kind": "Zzz", "metadata": {"name": "a"}},
        {"apiVersion": "tinkerbel.org/v1alpha1", "kind": "Hardwear", "metadata": {"name": "a"}},
    ],
)
def test_what_stands_in_a_document_that_is_left_out_may_be_meant_by_it(wrapped: object) -> None:
    for text in (json.dumps(wrapped), "---\n" + json.dumps(wrapped)):
        read = read_all(text)
        assert (read.objects, read.problems) == ((), ())
        found = {(each.kubernetes_kind, each.namespace, each.name) for each in read.left_out}
        assert ("Hardware", "default", "a") in found


def test_ids_of_machines_in_a_document_that_is_left_out_are_known() -> None:
    kept = {**NODE, "metadata": {"annotations": {"tinkbox.internal/id": "y"}}}
    read = read_all(json.dumps({"apiVersion": "x/y", "kind": "Z", "spec": [OF_2020, {"id": 1}, [kept]]}))
    assert [each.content for each in read.left_out if each.content] == [
        {"id": "x"},
        {"metadata": {"annotations": {"tinkbox.internal/id": "y"}}},
    ]


def test_a_machine_that_is_left_out_is_no_workflow_that_waits() -> None:
    foreign = {**NODE, "apiVersion": "x/y", "metadata": {"name": "a", "annotations": {"tinkbox.internal/id": "y"}}}
    waiting = of_kind("Workflow", {"templateRef": "a", "disabled": True})
    taken = take(json.dumps([foreign, waiting, of_kind("Workflow", {"templateRef": "a"})]), "Workflow")
    assert [each.kind for each in taken.left_out] == ["Workflow"]


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ("{a: 1}", "the value of a is no text: put it in quotes"),
        ("{a: b, c: [x]}", "the value of c is no text: put it in quotes"),
        ("{a: null}", "the value of a is no text: put it in quotes"),
        ("[a]", "expected keys with values"),
    ],
)
@pytest.mark.parametrize("kind", ["Hardware", "WorkflowRuleSet"])
def test_annotations_that_are_no_texts_are_refused_as_labels_are(kind: str, annotations: str, told: str) -> None:
    text = f"apiVersion: tinkerbell.org/v1alpha1\nkind: {kind}\nmetadata:\n  name: x\n  annotations: ANNOTATIONS\n"
    assert problems(text.replace("ANNOTATIONS", annotations)) == [f"line 5, metadata.annotations: {told}"]
    assert problems(text.replace("ANNOTATIONS", "{a: '1', b: x}")) == []
