"""Secrets and ConfigMaps in files, and the templates that see them through a machine's `spec.references`."""

import pytest

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.applying.documents import files, machine, outcomes, template
from tinkbox.engine.applying.applying import Wish
from tinkbox.model.errors import Invalid
from tinkbox.model.secret import revealed

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: site, namespace: tink-system}
data: {ntp: 10.0.0.1, motd: "{{ .not.a.placeholder }}"}
binaryData: {logo: iVBORw==}
"""
REFERENCES = """\
  references:
    site: {version: v1, resource: configmaps, name: site, namespace: tink-system}
    login: {version: v1, resource: secrets, name: lab, namespace: tink-system}
"""
TEXT = """\
version: "0.1"
name: asking
tasks:
  - name: os-installation
    worker: "{{.device_1}}"
    actions:
      - name: ask
        image: tools/ask:v1
        environment: {VALUE: '{{ VALUE }}'}
"""
FLOW = f"""\
apiVersion: tinkerbell.org/v1alpha1
kind: Workflow
metadata: {{name: ask}}
spec: {{templateRef: asking, hardwareRef: node1, hardwareMap: {{device_1: "{mac(1)}"}}}}
"""
NODE = machine(1) + REFERENCES


def asking(value: str) -> str:
    return template("asking", TEXT.replace("VALUE }", f"{value} }}"))


async def given(box: Appliance) -> str:
    """What the action is given as VALUE."""
    (flow,) = await box.workflows.all()
    offer = await box.offer(flow.actions[0].action.worker)
    assert offer is not None
    return revealed(offer.action.spec.environment["VALUE"], offer.given)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (".references.site.data.ntp", "10.0.0.1"),
        (".references.site.data.motd", "{{ .not.a.placeholder }}"),
        ('index .references.site.binaryData "logo" | b64dec | len', "4"),
        (".references.site.metadata.namespace", "tink-system"),
    ],
)
async def test_a_template_sees_the_config_map_of_the_same_files(box: Appliance, value: str, expected: str) -> None:
    applied = await box.applying.apply(files(CONFIG_MAP, NODE, asking(value), FLOW), Wish(), "ann")
    assert outcomes(applied)["configmap/site"] == "created"
    assert await given(box) == expected


async def test_a_config_map_that_is_kept_is_seen_by_workflows_that_are_made_by_hand(box: Appliance) -> None:
    await box.applying.apply(files(CONFIG_MAP, NODE), Wish(), "ann")
    await box.workflow(TEXT.replace("VALUE }", ".references.site.data.ntp }"))
    assert await given(box) == "10.0.0.1"


async def test_apply_makes_workflows_that_ask_for_secrets(box: Appliance) -> None:
    await box.secrets.set("lab.password", b"correct-horse", "ann")
    value = ".references.login.data.password | b64dec"
    await box.applying.apply(files(NODE, asking(value), FLOW), Wish(), "ann")
    assert await given(box) == "correct-horse"


SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: lab, namespace: tink-system}
type: Opaque
data: {password: Y29ycmVjdC1ob3JzZQ==, user: bm90IHRoaXMgb25l}
stringData: {user: installer}
"""


async def values(box: Appliance) -> dict[str, bytes]:
    key = box.secrets._key
    sealed = await box.store.read(lambda tables: tables.secrets.current(["lab.password", "lab.user"]))
    return {each.name: key.open(each.name, each.content) for each in sealed}


@pytest.mark.parametrize(
    ("slip", "place", "told"),
    [
        ("data: {port: 8080}", "data.port", "put it in quotes"),
        ("data: {debug: on}", "data.debug", "put it in quotes"),
        ("data: {a b: c}", "data.a b", "is no key"),
        ('binaryData: {x: "!!"}', "binaryData.x", "no base64"),
        ("data: {x: y1}\nbinaryData: {x: aGFsbG8=}", "binaryData.x", "in data too"),
    ],
)
async def test_what_kubernetes_refuses_of_a_config_map_is_refused_with_the_key(
    box: Appliance, slip: str, place: str, told: str
) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: site}}\n{slip}\n"
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(text), Wish(), "ann")
    (problem,) = refused.value.problems
    assert (problem.key.partition(", ")[2], told in problem.text) == (place, True)


BARE = """\
apiVersion: v1
kind: {kind}List
metadata: {{resourceVersion: "1"}}
items: [{{metadata: {{name: lab}}, data: {{password: Y29ycmVjdC1ob3JzZQ==}}}}]
"""


@pytest.mark.parametrize(("kind", "made"), [("Secret", "secret/lab.password"), ("ConfigMap", "configmap/lab")])
async def test_items_of_a_list_of_one_kind_need_not_say_their_kind(box: Appliance, kind: str, made: str) -> None:
    applied = await box.applying.apply(files(BARE.format(kind=kind)), Wish(), "ann")
    assert outcomes(applied) == {made: "created"}


async def test_each_entry_of_a_secret_document_is_a_secret(box: Appliance) -> None:
    applied = await box.applying.apply(files(SECRET), Wish(), "ann")
    assert outcomes(applied) == {"secret/lab.password": "created", "secret/lab.user": "created"}
    assert await values(box) == {"lab.password": b"correct-horse", "lab.user": b"installer"}
    assert outcomes(await box.applying.apply(files(SECRET), Wish(), "ann")) == dict.fromkeys(
        ("secret/lab.password", "secret/lab.user"), "unchanged"
    )
    changed = await box.applying.apply(files(SECRET.replace("installer", "somebody")), Wish(), "ann")
    assert outcomes(changed) == {"secret/lab.password": "unchanged", "secret/lab.user": "configured"}
    assert all("correct-horse" not in repr(each) for each in (applied, changed))


async def test_a_workflow_of_the_same_files_is_given_the_secret(box: Appliance) -> None:
    site = files(SECRET, NODE, asking(".references.login.data.password | b64dec"), FLOW)
    rehearsed = await box.applying.apply(site, Wish(rehearsal=True), "ann")
    assert await values(box) == {}
    applied = await box.applying.apply(site, Wish(), "ann")
    assert outcomes(rehearsed) == outcomes(applied)
    assert await given(box) == "correct-horse"


async def test_a_secret_document_is_refused_without_the_right_to_secrets(box: Appliance) -> None:
    for wish in (Wish(sets_secrets=False), Wish(sets_secrets=False, rehearsal=True)):
        with pytest.raises(Invalid) as refused:
            await box.applying.apply(files(SECRET, NODE), wish, "ann")
        (problem,) = refused.value.problems
        assert "right to secrets" in problem.text
    assert await values(box) == {}
    assert not [*box.machines.known.all()]


@pytest.mark.parametrize(
    ("slip", "place", "told"),
    [
        ("data: {password: top secret}", "2.yaml:4, data.password", "no base64"),
        ("stringData: {password: short}", "2.yaml:4, stringData.password", "fewer than 6 bytes"),
        ("stringData: {pass word: long-enough}", "2.yaml:4, stringData.pass word", "is no name of a secret"),
        ("stringData: {password: 'ENC[AES256_GCM,data:top-secret]'}", "2.yaml:4, stringData.password", "sops -d FILE"),
        ("stringData: {password: 12345678}", "2.yaml:4, stringData.password", "put it in quotes"),
        ("type: Opaque", "2.yaml:1, data", "neither data nor stringData"),
    ],
)
async def test_a_slip_in_a_secret_is_told_with_its_line_and_without_its_value(
    box: Appliance, slip: str, place: str, told: str
) -> None:
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: lab}}\n{slip}\n"
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(CONFIG_MAP, NODE, text), Wish(), "ann")
    (problem,) = refused.value.problems
    assert (problem.key, told in problem.text) == (place, True)
    assert not any(value in str(refused.value.problems) for value in ("top secret", "top-secret"))
    assert not [*box.machines.known.all()]


OTHER_KEY = """\
apiVersion: v1
kind: Secret
metadata: {name: lab, namespace: lab}
stringData: {token: another-one}
"""
DOTTED = """\
apiVersion: v1
kind: Secret
metadata: {name: lab.pass, namespace: tink-system}
stringData: {word: another-one}
"""


@pytest.mark.parametrize("other", [SECRET.replace("tink-system", "lab"), OTHER_KEY])
async def test_two_secrets_that_differ_in_their_namespace_alone_are_refused(box: Appliance, other: str) -> None:
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(f"{SECRET}---\n{other}"), Wish(), "ann")
    (problem,) = refused.value.problems
    assert "Secret lab is declared in namespace tink-system at 0.yaml:1" in problem.text
    assert "give one of them another name" in problem.text


@pytest.mark.parametrize("other", [SECRET.replace("tink-system", "lab"), OTHER_KEY])
async def test_a_secret_of_another_namespace_takes_no_place_that_an_earlier_one_has(box: Appliance, other: str) -> None:
    await box.applying.apply(files(SECRET), Wish(), "ann")
    for wish in (Wish(rehearsal=True), Wish()):
        with pytest.raises(Invalid) as refused:
            await box.applying.apply(files(other), wish, "ann")
        (problem,) = refused.value.problems
        assert "Secret lab was applied in namespace tink-system" in problem.text
        assert "tinkbox secret delete lab.password lab.user" in problem.text
    for each in ("lab.password", "lab.user"):
        await box.secrets.delete(each)
    await box.applying.apply(files(other), Wish(), "ann")


async def test_two_secrets_whose_entries_would_have_one_name_are_refused(box: Appliance) -> None:
    dotted = SECRET.replace("password:", "pass.word:")
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(f"{dotted}---\n{DOTTED}"), Wish(), "ann")
    assert [each.text for each in refused.value.problems] == [
        "secret lab.pass.word is declared a second time, the first is at 0.yaml:1"
    ]
    await box.applying.apply(files(dotted), Wish(), "ann")
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(DOTTED), Wish(), "ann")
    (problem,) = refused.value.problems
    assert "lab.pass.word is the key pass.word of the Secret lab" in problem.text


async def test_a_secret_that_was_set_by_hand_becomes_that_of_a_document(box: Appliance) -> None:
    await box.secrets.set("lab.password", b"correct-horse", "ann")
    applied = await box.applying.apply(files(SECRET), Wish(), "ann")
    assert outcomes(applied)["secret/lab.password"] == "configured"
    with pytest.raises(Invalid):
        await box.applying.apply(files(OTHER_KEY), Wish(), "ann")


OPAQUE = """apiVersion: v1
kind: Secret
metadata: {name: lab, namespace: tink-system}
stringData: {password: correct-horse, wrapped: wrapped-one, user: installer, .dockerconfigjson: '{"auths": {}}'}
---
apiVersion: v1
kind: Secret
metadata: {name: lab.more, namespace: tink-system}
stringData: {other: not-of-lab}
"""
KEYS = ".dockerconfigjson password user wrapped"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("range $k, $v := .references.login.data }}{{ $k }} {{ end", KEYS + " "),
        ("len .references.login.data", "4"),
        ('hasKey .references.login.data "nope"', "false"),
        ('dig "login" "data" "wrapped" "DEFAULT" .references | b64dec', "wrapped-one"),
        ('dig "login" "data" "nope" "DEFAULT" .references', "DEFAULT"),
        ('$k := "user" }}{{ index .references.login.data $k | b64dec', "installer"),
        ('index .references "login" "data" "user" | b64dec', "installer"),
        ('index .references.login.data (printf "us%s" "er") | b64dec', "installer"),
        ("with .references.login.data }}{{ .user | b64dec }}{{ end", "installer"),
        ('index .references.login.data ".dockerconfigjson" | b64dec', '{"auths": {}}'),
        # In Jinja2:
        (
            'references.login.data | length }}{% for key in references.login.data %} {{ key }}{% endfor %}{{ ""',
            f"4 {KEYS}",
        ),
        ('references.login.data[".dockerconfigjson"] | default("x") | b64dec', '{"auths": {}}'),
        ('references.login.data.nope | default("x")', "x"),
        ('references.login.data.get("user") | b64dec', "installer"),
    ],
)
async def test_a_template_sees_the_keys_that_a_secret_has(box: Appliance, value: str, expected: str) -> None:
    site = files(OPAQUE, NODE, in_either_language(value), FLOW)
    await box.applying.apply(site, Wish(rehearsal=True), "ann")
    await box.applying.apply(site, Wish(), "ann")
    assert await given(box) == expected


def in_either_language(value: str) -> str:
    text = TEXT.replace("VALUE }", f"{value} }}")
    is_jinja = value.startswith("references")
    return template("asking", text.replace("{{.device_1}}", "{{ device_1 }}") if is_jinja else text)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("with .references.login.data }}{{ .dockerconfigjson }}{{ end", "map has no entry for key"),
        (".references.login.data.nope", "the Secret lab has .dockerconfigjson, password, user, wrapped"),
        (".references.other.data.nope", "`tinkbox secret set NAME.KEY` sets a key of the Secret NAME"),
        ("references.login.data.nope", "there is no nope in it"),
    ],
)
async def test_a_template_that_asks_for_a_key_that_a_secret_lacks_is_refused(
    box: Appliance, value: str, told: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(OPAQUE, NODE, in_either_language(value), FLOW), Wish(), "ann")
    assert told in str(refused.value.problems)


async def test_of_a_secret_that_stands_twice_in_a_file_the_last_counts(box: Appliance) -> None:
    await box.applying.apply(files(f"{SECRET}---\n{SECRET.replace('installer', 'somebody')}"), Wish(), "ann")
    assert (await values(box))["lab.user"] == b"somebody"


async def test_a_workflow_that_asks_for_a_secret_that_is_nowhere_is_refused_by_a_rehearsal_too(box: Appliance) -> None:
    site = files(NODE, asking(".references.login.data.password"), FLOW)
    for wish in (Wish(rehearsal=True), Wish()):
        with pytest.raises(Invalid) as refused:
            await box.applying.apply(site, wish, "ann")
        assert "tinkbox secret set NAME.KEY" in str(refused.value.problems)


async def test_a_config_map_cannot_name_a_secret(box: Appliance) -> None:
    await box.secrets.set("lab.password", b"correct-horse", "ann")
    forged = CONFIG_MAP.replace("10.0.0.1", f"tbsecret-v1.lab.password.raw.{'0' * 32}")
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(forged, NODE, asking(".references.site.data.ntp"), FLOW), Wish(), "ann")
    assert "no machine and no parameter can name a secret" in str(refused.value.problems)


async def test_the_config_map_of_the_namespace_counts_and_else_the_only_one_of_its_name(box: Appliance) -> None:
    elsewhere = CONFIG_MAP.replace("tink-system", "lab").replace("10.0.0.1", "10.0.0.2")
    await box.applying.apply(files(elsewhere, NODE), Wish(), "ann")
    text = TEXT.replace("VALUE }", ".references.site.data.ntp }")
    assert "10.0.0.2" in (await box.workflows.get(await box.workflow(text))).text
    await box.applying.apply(files(CONFIG_MAP), Wish(), "ann")
    assert "10.0.0.1" in (await box.workflows.get(await box.workflow(text))).text
    third = CONFIG_MAP.replace("tink-system", "third")
    await box.applying.apply(files(third), Wish(), "ann")
    await box.kept_documents.delete("configmap", "site", "tink-system")
    with pytest.raises(Invalid) as refused:
        await box.workflow(text)
    assert "tinkbox document list" in str(refused.value.problems)


STRUCTURED = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Workflow
metadata: {name: ask}
spec:
  references: {mine: {version: v1, resource: configmaps, name: site, namespace: tink-system}}
  vars: {ntp: "{{ .references.mine.data.ntp }}"}
  tasks: [{taskRef: {name: asking}, hardware: {hardwareRef: {name: node1}}}]
---
apiVersion: tinkerbell.org/v1alpha2
kind: Task
metadata: {name: asking}
spec:
  references: {own: {version: v1, resource: secrets, name: lab, namespace: tink-system}}
  actions:
    - name: ask
      image: tools/ask:v1
      env: {VALUE: "{{ .workflow.spec.vars.ntp }} {{ .references.own.data.password | b64dec }} {{ secret \\"lab.user\\" }}"}
"""


async def test_a_workflow_and_a_task_of_v1alpha2_see_what_each_of_them_names(box: Appliance) -> None:
    site = files(STRUCTURED, SECRET, CONFIG_MAP, machine(1))
    await box.applying.apply(site, Wish(rehearsal=True), "ann")
    await box.applying.apply(site, Wish(), "ann")
    assert await given(box) == "10.0.0.1 correct-horse installer"


async def test_a_task_does_not_see_what_its_workflow_names(box: Appliance) -> None:
    text = STRUCTURED.replace(".references.own.data.password", ".references.mine.data.ntp")
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(text, SECRET, CONFIG_MAP, machine(1)), Wish(), "ann")
    assert 'no entry for key "mine"' in str(refused.value.problems)
