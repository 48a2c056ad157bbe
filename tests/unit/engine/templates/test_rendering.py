"""A template's way from text to definition, in each of its dialects."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.engine.template_texts import MAC, SMALL
from tinkbox.engine.templates.rendering import (
    Rendered,
    check,
    render,
    render_each,
    rendering_data,
    told_of_stored,
)
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware
from tinkbox.model.template import MAX_TEXT

JINJA = SMALL.replace("{{ .device_1 }}", "{{ device_1 }}")
VALUED = """\
version: "0.1"
name: small
tasks:
  - name: t
    worker: 08:00:27:00:00:01
    actions:
      - name: a
        image: x
        environment:
          V: EXPRESSION
"""
MACHINE = hardware_from_document(
    {
        "id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94",
        "network": {"interfaces": [{"dhcp": {"mac": MAC, "hostname": "server001", "arch": "aarch64"}}]},
    }
)
DATA = rendering_data({"device_1": MAC}, MACHINE, "a-workflow")
# What Tinkerbell's proposal 0014 shows, word for word.
PROPOSAL = (Path(__file__).parents[3] / "golden" / "templates" / "proposal-0014.yaml").read_text()


async def problems_of(text: str, devices: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        await render(text, rendering_data({"device_1": MAC} if devices is None else devices, MACHINE))
    return [str(refusal.value), *(str(problem) for problem in refusal.value.problems)]


@pytest.mark.parametrize("text", [SMALL, JINJA, SMALL.replace("{{ .device_1 }}", "{{- .device_1 -}}")])
async def test_a_placeholder_is_filled_in_either_dialect(text: str) -> None:
    rendered = await render(text, DATA)
    assert rendered.text == SMALL.replace("{{ .device_1 }}", MAC)
    assert (rendered.definition.name, rendered.definition.tasks[0].worker) == ("small", MAC)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("{{ (index .Hardware.Interfaces 0).DHCP.Arch }}", "aarch64"),
        ("{{ .hardware.metadata.name }}", "server001"),
        ("{{ .workflow_id }}", "a-workflow"),
        ("{{ .workflowid }}", "a-workflow"),
        ("{{ printf .workflowid }}", "a-workflow"),
        ("{{ len .references }}", "0"),
        ('{{ if regexMatch "a(arch|rm)" (index .Hardware.Interfaces 0).DHCP.Arch }}arm{{ else }}x86{{ end }}', "arm"),
        ("{{ Hardware.Interfaces[0].DHCP.Arch }}", "aarch64"),
        ("{{ hardware.metadata.name }}", "server001"),
        ("{{ workflow_id }}", "a-workflow"),
        ("{{ workflowid }}", "a-workflow"),
        ("{{ workflowid | string }}", "a-workflow"),
        ("{{ references | length }}", "0"),
        ("{{ workflow_id[:0] }}{{ fromYaml('a: 0644').a }}", "420"),
        ('{{ (fromYaml "a: 0644").a | printf "%.1f" }}', "420.0"),
        ("{% if 'arch' in hardware.spec.interfaces[0].dhcp.arch %}arm{% else %}x86{% endif %}", "arm"),
    ],
)
async def test_a_template_sees_its_machine_in_either_dialect(expression: str, value: str) -> None:
    rendered = await render(VALUED.replace("EXPRESSION", expression), DATA)
    assert rendered.definition.tasks[0].actions[0].environment == {"V": value}


V1ALPHA1 = {
    "apiVersion": "tinkerbell.org/v1alpha1",
    "kind": "Hardware",
    "metadata": {"name": "server001"},
    "spec": {"interfaces": [{"dhcp": {"mac": MAC}}]},
}
V1ALPHA2 = {
    "apiVersion": "tinkerbell.org/v1alpha2",
    "kind": "Hardware",
    "metadata": {"name": "server001"},
    "spec": {"networkInterfaces": {MAC: {}}},
}


@pytest.mark.parametrize("machine", [hardware_from_document(V1ALPHA1), hardware_from_document(V1ALPHA2), MACHINE])
@pytest.mark.parametrize("dot", [".", ""])
async def test_a_machine_has_the_metadata_of_any_object_in_a_cluster(machine: Hardware, dot: str) -> None:
    """Namespace, name and uid, whatever its document says."""
    seen = "/".join(f"{{{{ {dot}hardware.metadata.{name} }}}}" for name in ("namespace", "name", "uid"))
    rendered = await render(VALUED.replace("EXPRESSION", seen), rendering_data({}, machine))
    assert rendered.definition.tasks[0].actions[0].environment == {"V": f"default/server001/{machine.id}"}


async def test_the_namespace_and_uid_of_a_document_are_seen() -> None:
    document = {**V1ALPHA1, "metadata": {"name": "server001", "namespace": "lab", "uid": "of-a-cluster"}}
    data = rendering_data({}, hardware_from_document(document))
    rendered = await render(
        VALUED.replace("EXPRESSION", "{{ .hardware.metadata.namespace }}/{{ .hardware.metadata.uid }}"), data
    )
    assert rendered.definition.tasks[0].actions[0].environment == {"V": "lab/of-a-cluster"}


async def test_without_a_machine_there_is_nothing_to_see() -> None:
    data = rendering_data({}, None)
    with pytest.raises(Invalid) as refusal:
        await render(VALUED.replace("EXPRESSION", "{{ index .Hardware.Disks 0 }}"), data)
    assert "index out of range" in str(refusal.value.problems[0])
    text = VALUED.replace("EXPRESSION", "{{ len .hardware.spec.auto }}{{ len .Hardware.Interfaces }}")
    assert (await render(text, data)).definition.tasks[0].actions[0].environment == {"V": "00"}


async def test_a_structure_may_depend_on_the_machine() -> None:
    go = VALUED.replace(
        "    environment",
        "{{- if eq 1 2 }}\n        pid: host\n{{- else }}\n        retries: 3\n{{- end }}\n        environment",
    )
    jinja = VALUED.replace(
        "        environment",
        "{% if 1 == 2 %}\n        pid: host\n{% else %}\n        retries: 3\n{% endif %}\n        environment",
    )
    for text in (go.replace("    {{-", "{{-"), jinja):
        action = (await render(text.replace("EXPRESSION", "1"), DATA)).definition.tasks[0].actions[0]
        assert (action.pid, action.retries) == ("", 3)


async def test_a_template_is_checked_before_it_has_devices() -> None:
    for text in (SMALL, JINJA):
        await check(text)
        with pytest.raises(Invalid) as refusal:
            await check(text.replace("image: x", "imag: x"))
        assert any("did you mean image?" in str(each) for each in refusal.value.problems)


async def test_what_is_ignored_is_told_before_there_are_devices_and_of_what_is_rendered() -> None:
    more = "image: x, args: [a]"
    for text in (SMALL, JINJA):
        (told,) = await check(text.replace("image: x", more))
        assert str(told) == "line 7, tasks[0].actions[0].args: unknown key args is ignored; here it is command"
        rendered = await render(text.replace("image: x", more), {"device_1": MAC})
        assert rendered.definition.ignored == (told,)
    shrunk = await render("{{ if false }}\n\n{{ end }}" + SMALL.replace("image: x", more), {"device_1": MAC})
    assert [(each.line, each.key) for each in shrunk.definition.ignored] == [(None, "tasks[0].actions[0].args")]


@pytest.mark.parametrize("placeholder", ["{{ .img }}", "{{\n.img\n}}"])
async def test_a_line_that_a_value_may_fill_with_anything_is_not_judged(placeholder: str) -> None:
    assert await check(SMALL.replace("image: x", f"image: {placeholder}")) == ()


async def test_what_is_ignored_refuses_no_template_whose_other_lines_are_open() -> None:
    open_ = SMALL.replace("image: x", "image: x, timeout: {{ .timeout }}").replace(
        "name: small", "name: small\nextra: 1"
    )
    assert [each.key for each in await check(open_)] == ["extra"]


async def test_what_stands_for_no_machine_may_be_anything_and_the_rest_is_checked() -> None:
    text = SMALL.replace("image: x", "image: {{ .image }}, timeout: {{ .timeout }}")
    await check(text)
    await check(text + "{{ .more_actions }}")
    with pytest.raises(Invalid) as refusal:
        await check(text.replace("name: small", "nme: small"))
    assert [problem.key for problem in refusal.value.problems] == ["name", "nme"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ if .x }}", "unexpected EOF"),
        ("a\n{{ .x | nosuch }}", 'line 2: function "nosuch" not defined'),
        ("a\n{{ .a }}{{ env }}", "line 2: env is not available: it reads the environment"),
        ("a\n{% if x %}", "line 2: Unexpected end of template"),
        ("a\n\n{{ x | nosuch }}", "line 3: No filter named 'nosuch'"),
        ("a\n{{ .x }}\n{% if x %}", "line 3: {% if x %} is of Jinja2"),
    ],
)
async def test_what_cannot_be_parsed_is_refused_before_it_has_devices(text: str, said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        await check(text)
    assert any(said in str(problem) for problem in refusal.value.problems), refusal.value.problems


async def test_of_many_names_with_a_value_the_first_are_told() -> None:
    (_, found) = await problems_of(SMALL, {f"other_{number:05}": MAC for number in range(10_000)})
    assert found.endswith("which has " + ", ".join(f"other_{number:05}" for number in range(20)) + " and 9980 more")


async def test_every_placeholder_without_a_value_is_named_with_its_line() -> None:
    for text, mark in (
        (SMALL, "a Go template because of {{ .device_1 }}"),
        (JINJA, "a Jinja2 template because of {{ device_1 }}"),
    ):
        found = await problems_of(
            text.replace("image: x", text[text.index("{{") : text.index("}}") + 2].replace("1", "3")), {"device_2": MAC}
        )
        assert found == [
            f"invalid template: 2 problems, read as {mark} on line 5 of its text",
            "line 5, device_1: placeholder device_1 has no value: give it with --set device_1=VALUE, or in the -r map, which has device_2",
            "line 7, device_3: placeholder device_3 has no value: give it with --set device_3=VALUE, or in the -r map, which has device_2",
        ]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("{{ .Hardware.Diskz }}", "Disks"),
        ("{{ (index .Hardware.Interfaces 0).DHCP.Archh }}", "Arch"),
        ("{{ .hardware.spec.interface }}", "interfaces"),
        ("{{ Hardware.Diskz }}", "did you mean Disks?"),
    ],
)
async def test_a_field_that_is_not_there_names_the_nearest(expression: str, said: str) -> None:
    _, problem = await problems_of(VALUED.replace("EXPRESSION", expression))
    assert problem.startswith("line 10: ")
    assert said in problem


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("{{ .image | upper }}", ""),
        ("{{ $.image }}{{ if true }}{{ end }}", ""),
        ("{{ with .device_1 }}{{ $.image }}{{ end }}", ""),
        ("{{ image | upper }}", ""),
        ("{% if true %}{{ image }}{% endif %}", ""),
        ("{{ .hardwares.spec | upper }}", "; did you mean hardware?"),
    ],
)
@pytest.mark.parametrize("apart", [True, False])
async def test_a_value_that_is_missing_is_named_with_the_way_out(expression: str, said: str, apart: bool) -> None:
    text = VALUED.replace("EXPRESSION", expression)
    for way_out, told in (
        ({}, "with --set {0}=VALUE, or in the -r map"),
        ({"way_out": "in the -r map"}, "in the -r map"),
    ):
        (refusal,) = await render_each(text, [DATA], apart=apart, **way_out)
        assert isinstance(refusal, Invalid)
        name = "hardwares" if said else "image"
        assert [str(each) for each in refusal.problems] == [
            f"line 10, {name}: placeholder {name} has no value: give it {told.format(name)}, which has device_1{said}"
        ]


async def test_a_key_that_a_machine_lacks_is_no_parameter() -> None:
    _, problem = await problems_of(VALUED.replace("EXPRESSION", "{{ with .hardware.spec }}{{ .image }}{{ end }}"))
    assert problem.startswith('line 10: at <.image>: map has no entry for key "image"')


async def test_lines_of_a_text_that_shrank_are_said_to_be_those_of_the_rendered_one() -> None:
    wrong = SMALL.replace("image: x", "imag: x")
    assert (await problems_of(wrong))[0] == "invalid template: 1 problem"
    summary, problem, _ = await problems_of("{{ if false }}\n\n{{ end }}" + wrong)
    assert summary == "invalid template: 1 problem"
    assert problem.startswith("tasks[0].actions[0].image: line 7 of the rendered text: ")


async def test_each_of_several_data_has_its_own_result() -> None:
    for text in (SMALL, JINJA):
        good, bad = await render_each(text, [DATA, {}])
        assert not isinstance(good, Invalid)
        assert isinstance(bad, Invalid)
        assert await render_each(text, []) == []


async def test_a_text_that_is_too_long_is_refused() -> None:
    for text, devices in ((SMALL + "#" * MAX_TEXT, {"device_1": MAC}), (SMALL, {"device_1": "x" * MAX_TEXT})):
        with pytest.raises(Invalid) as refusal:
            await render(text, rendering_data(devices, None))
        said = [str(refusal.value), *(str(problem) for problem in refusal.value.problems)]
        assert any("exceeds 256 KiB" in each or "longer than 262144 bytes" in each for each in said), said


@pytest.mark.parametrize("name", ["Hardware", "hardware", "references", "workflow_id", "workflowid"])
def test_a_device_cannot_have_the_name_of_something_else(name: str) -> None:
    with pytest.raises(Invalid, match=f"{name} cannot be the name of a device"):
        rendering_data({name: MAC}, None)


def test_where_no_workflow_is_made_its_id_is_one_that_none_has() -> None:
    assert rendering_data({}, None)["workflow_id"] == "00000000-0000-0000-0000-000000000000"


async def test_the_example_of_proposal_0014_is_read_as_it_is_printed() -> None:
    data = rendering_data({"device_1": MAC, "provisioner1": "provisioner"}, MACHINE, "0c1f6f5d")
    rendered = await render(PROPOSAL, data)
    assert "{{" not in rendered.text
    definition = rendered.definition
    boot, receiver = definition.services
    assert (boot.name, boot.worker, boot.image) == (
        "serve boot files",
        "provisioner",
        "osie-boot-files-server:v1.0.42",
    )
    rule = "traefik.http.routers.myrouter.rule"
    host = (rule, "Host(`0c1f6f5d.workflows.tinkerbell.local`)")
    paths = ("/kernel", "/initrd", "/modules", "/auto.ipxe")
    assert boot.labels == (host, *((rule, f"Path(`{path}`)") for path in paths))
    assert (receiver.name, receiver.worker) == ("password receiver", "provisioner")
    assert receiver.labels == (host, (rule, "Path(`/key`)"), (rule, "Path(`/password`)"))
    (task,) = definition.tasks
    assert (task.worker, task.environment) == (MAC, {"MIRROR_HOST": "<MIRROR_HOST_IP>"})
    assert [action.name for action in task.actions] == ["disk-wipe", "disk-partition", "install-root-fs"]


async def test_the_example_of_proposal_0014_is_checked_before_it_has_devices() -> None:
    await check(PROPOSAL)
    with pytest.raises(Invalid) as refusal:
        await check(PROPOSAL.replace("`{{workflowid}}", "{{workflowid}}"))
    assert {problem.line for problem in refusal.value.problems} == {9, 19}


async def test_the_name_of_a_workflow_is_one_before_there_is_a_workflow() -> None:
    urls = "    urls: [http://{{workflowid}}.workflows.tinkbox.internal/key]\n"
    text = PROPOSAL.replace("    image: password-receiver:v1.0.42\n", "    image: password-receiver:v1.0.42\n" + urls)
    await check(text)
    with pytest.raises(Invalid) as refusal:
        await check(text.replace("http:", "ftp:"))
    assert [problem.key for problem in refusal.value.problems] == ["services[1].urls[0]"]


@pytest.mark.parametrize(
    "expression",
    [
        "{{ index .Hardware.Disks 0 }}",
        "{{ (index .hardware.spec.interfaces 1).dhcp.mac }}{{ .size | default 3 }}",
        "{{ if .debug }}yes{{ end }}",
        "{{ Hardware.Disks[0] }}{{ size | upper }}",
        "{% for each in range(2) %}{{ each }}{% endfor %}",
    ],
)
async def test_an_unknown_key_is_told_of_a_template_with_logic_before_it_is_filled(expression: str) -> None:
    text = VALUED.replace("EXPRESSION", expression).replace("image: x", "image: x\n        imagee: y")
    is_go = "{{ ." in expression or "{{ i" in expression or "{{ (" in expression
    for apart in (False, True):
        assert [each.key for each in await check(text, apart=apart)] == ["tasks[0].actions[0].imagee"]
        told = await told_of_stored(text, apart=apart)
        assert [each.key for each in told] == (["tasks[0].actions[0].imagee"] if is_go else [])


@pytest.mark.parametrize(
    "more",
    [
        "environment: {A: {{ index .Hardware.Disks 99 }}}",
        "{{ .key }}: {{ .value | upper }}",
        "imagee: '{{ htpasswd `a` `b` }}'",  # which takes long
        "timeout: {{ .timeout | upper }}",
    ],
)
async def test_what_may_be_the_fault_of_the_sample_is_not_told_of_a_template(more: str) -> None:
    assert await check(SMALL.replace("image: x", f"image: x, {more}")) == ()


FOR_ONE = VALUED.replace("08:00:27:00:00:01", "'{{ .device_1 }}'").replace(
    "environment:\n          V: EXPRESSION", "command: ['{{ .a | upper }}']\n        secrets:\n          - ENTRY"
)


@pytest.mark.parametrize(
    ("text", "apart"), [(FOR_ONE, False), (FOR_ONE, True), (FOR_ONE.replace("{{ .", "{{ "), False)]
)
async def test_entry_of_secrets_that_no_machine_could_be_given_is_refused_before_it_is_filled(
    text: str, apart: bool
) -> None:
    wrong = {"{name: db, file: /etc/db}": ".file", "{name: db, env: 1-2}": ".env", "{name: a b, env: C}": "", "a b": ""}
    text = text.replace("ENTRY", "\n          - ".join(wrong))
    with pytest.raises(Invalid) as rendered:
        await render(text, DATA | {"a": "x"})
    with pytest.raises(Invalid) as refused:
        await check(text, apart=apart)
    assert refused.value.problems == rendered.value.problems
    assert [each.key for each in refused.value.problems] == [
        f"tasks[0].actions[0].secrets[{place}]{key}" for place, key in enumerate(wrong.values())
    ]


async def test_entry_of_secrets_that_is_filled_is_judged_once_it_is() -> None:
    for entry in ("{name: db, file: '{{ .where | lower }}'}", "{name: '{{ .which | upper }}'}"):
        assert await check(FOR_ONE.replace("ENTRY", entry)) == ()


async def test_names_of_both_languages_in_one_text_are_filled_alike() -> None:
    text = SMALL.replace("{name: a, image: x}", "{name: {{ a }}, image: {{x}}} # b {{-x-}} c")
    rendered = await render(text, {"device_1": MAC, "a": "one", "x": "two"})
    action = rendered.definition.tasks[0].actions[0]
    assert (action.name, action.image, rendered.definition.tasks[0].worker) == ("one", "two", MAC)
    assert rendered.text.endswith("# btwoc\n")
    assert await problems_of(text, {"x": MAC}) == [
        "invalid template: 2 problems, read as a text with nothing but names as placeholders",
        "line 5, device_1: placeholder device_1 has no value: give it with --set device_1=VALUE, or in the -r map, which has x",
        "line 7, a: placeholder a has no value: give it with --set a=VALUE, or in the -r map, which has x",
    ]


async def test_names_of_both_languages_beside_anything_else_are_refused_with_a_place_of_each() -> None:
    for more in ("{{ .a | upper }}", "{{ b | upper }}", "{% if b %}{% endif %}"):
        found = await problems_of(SMALL + "# {{ device_1 }}\n# " + more)
        assert found[0].startswith("the template mixes two languages")
        assert found[1:] == [
            "line 5: {{ .device_1 }} is of a Go template",
            "line 8: {{ device_1 }} is of Jinja2",
        ]


@settings(max_examples=50)
@given(
    text=st.lists(
        st.sampled_from([*SMALL.splitlines(), "{{", "}}", "{{ if .x }}", "{{ end }}", "- {{ .y }}"]), max_size=12
    )
)
async def test_no_go_template_does_anything_but_render_or_be_refused(text: list[str]) -> None:
    try:
        await render("\n".join(text), DATA)
    except Invalid as refusal:
        assert refusal.problems  # noqa: PT017  the point is that nothing else is raised


async def test_others_come_between_two_machines() -> None:
    order = []

    @asynccontextmanager
    async def turn() -> AsyncIterator[None]:
        order.append("begins")
        yield
        order.append("ends")

    await render_each("a: {{ if true }}{{ .b }}{{ end }}", [{"b": "1"}, {"b": "2"}], turn)
    assert order == ["begins", "ends"] * 4, "to find the language, to read the text, and for each machine"


@pytest.mark.parametrize("apart", [False, True])
async def test_all_data_of_one_call_have_the_same_moment_and_chance_of_their_own(apart: bool) -> None:
    moments = iter([datetime(2026, 7, 30, tzinfo=UTC)])
    text = SMALL.replace("image: x", 'image: "x:{{ date `2006-01-02` now }}-{{ uuidv4 }}"')
    rendered = await render_each(text, [DATA, DATA], apart=apart, clock=lambda: next(moments))
    images = [each.definition.tasks[0].actions[0].image for each in rendered if isinstance(each, Rendered)]
    assert [each[:13] for each in images] == ["x:2026-07-30-"] * 2
    assert len(set(images)) == 2


async def test_jinja2_prints_a_moment_and_has_its_parts() -> None:
    text = JINJA.replace(
        "image: x", "image: \"x:{{ date('2006', now()) }}-{{ now().Year }}-{{ (now() | string)[:4] }}\""
    )
    rendered = await render(text, DATA, clock=lambda: datetime(2026, 7, 30, tzinfo=UTC))
    assert rendered.definition.tasks[0].actions[0].image == "x:2026-2026-2026"
