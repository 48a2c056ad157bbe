"""`tinkbox apply`, `tinkbox export` and `tinkbox workflow plan` on the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli.terminal import questions
from tinkbox.model.applying import MAX_DOCUMENT
from tinkbox.model.declaration import with_retirement

Tinkbox = Callable[..., Printed]
MANIFEST = {"apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "metadata": {"name": "node7"}, "spec": {}}


def with_name(name: str) -> dict[str, Any]:
    return {**MANIFEST, "metadata": {"name": name}}


def result(
    outcome: str, name: str = "node7", kind: str = "hardware", why: str = "", **more: object
) -> dict[str, object]:
    return {"kind": kind, "name": name, "id": f"id-{name}", "outcome": outcome, "why": why, **more}


def answer(*results: dict[str, object], dry_run: bool = False, notes: tuple[object, ...] = ()) -> dict[str, object]:
    return {"dry_run": dry_run, "results": list(results), "notes": list(notes)}


def sent(appliance: FakeAppliance) -> list[dict[str, Any]]:
    return [json.loads(body) for _, body in appliance.asked]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text("kind: x\n")
    return tmp_path


def test_each_thing_is_a_line_as_kubectl_has_it(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    note = {"text": "Namespace x is left out", "line": None, "key": "a.yaml:1"}
    appliance.answers["POST /v1/apply"] = answer(
        result("created"), result("unchanged", "hello", "template"), notes=(note,)
    )
    done = tinkbox("apply", "-f", str(site))
    assert (done.status, done.out) == (0, "hardware/node7 created\ntemplate/hello unchanged\n")
    assert done.err == "tinkbox: a.yaml:1: Namespace x is left out\n"
    assert sent(appliance) == [{"files": [{"name": f"{site}/a.yaml", "text": "kind: x\n"}]}]


def test_images_are_required_where_that_is_said(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    appliance.answers["POST /v1/apply"] = answer(result("created"))
    for more in ([], ["--dry-run"]):
        assert tinkbox("apply", "-f", str(site), "--require-images", "--strict", *more).status == 0
    assert [(each["require_images"], each["strict"]) for each in sent(appliance)] == [(True, True)] * 2


def test_formats_are_for_scripts(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    appliance.answers["POST /v1/apply"] = answer(result("created"))
    assert tinkbox("apply", "-f", str(site), "-o", "name").out == "hardware/node7\n"
    assert json.loads(tinkbox("apply", "-f", str(site), "-o", "json").out)[0]["outcome"] == "created"
    assert "outcome: created\n" in tinkbox("apply", "-f", str(site), "-o", "yaml").out


def test_what_is_not_there_has_no_name(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    appliance.answers["POST /v1/apply"] = answer(
        result("created"),
        result("pruned", "node8"),
        result("kept", "node9", why="busy"),
        result("refused", "x", why="no"),
    )
    done = tinkbox("apply", "-f", str(site), "--prune", "-l", "rack=r1", "--yes", "-o", "name")
    assert done.out == "hardware/node7\nhardware/node9\n"


def test_of_several_of_one_name_the_ids_are_printed(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    same = [{**result("created", "j1"), "id": each} for each in ("id-a", "id-b")]
    appliance.answers["POST /v1/apply"] = answer(*same, result("created"))
    assert tinkbox("apply", "-f", str(site), "-o", "name").out == "hardware/id-a\nhardware/id-b\nhardware/node7\n"
    kept = {**result("created", "all", "policy"), "key": "policy/all"}
    appliance.answers["POST /v1/apply"] = answer(kept, {**kept, "name": "two", "key": "policy/id-t"})
    assert tinkbox("apply", "-f", str(site), "-o", "name").out == "policy/all\npolicy/id-t\n"
    appliance.answers["POST /v1/apply"] = answer({**result("created", "anvil"), "key": "id-c"})
    assert tinkbox("apply", "-f", str(site), "-o", "name").out == "hardware/id-c\n"
    for name in ("x m4", "q'x", "x hardware/m4", "workflow/one", "rack=r2", "zone-"):
        appliance.answers["POST /v1/apply"] = answer({**result("created", name), "id": "id-d"})
        assert tinkbox("apply", "-f", str(site), "-o", "name").out == "hardware/id-d\n", "xargs would pass on others"


@pytest.mark.parametrize(("flag", "rehearses"), [("", False), ("none", False), ("client", True), ("server", True)])
def test_a_dry_run_has_kubectls_values(
    tinkbox: Tinkbox, appliance: FakeAppliance, site: Path, flag: str, rehearses: bool
) -> None:
    appliance.answers["POST /v1/apply"] = answer(result("created"), dry_run=rehearses)
    assert tinkbox("apply", "-f", str(site), *([f"--dry-run={flag}"] if flag else ())).status == 0
    assert sent(appliance)[0].get("dry_run", False) is rehearses


def test_a_flag_without_a_value_says_so(tinkbox: Tinkbox, site: Path) -> None:
    for flag in ("--dry-run=true", "--prune=yes"):
        refused = tinkbox("apply", "-f", str(site), flag)
        name, _, value = flag.partition("=")
        assert (refused.status, f"{name} takes no value: leave ={value} out" in refused.err) == (2, True)


def test_a_refused_workflow_is_status_1_and_told(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    appliance.answers["POST /v1/apply"] = answer(result("refused", "w\x1b[2J", "workflow", "it differs"))
    failed = tinkbox("apply", "-f", str(site))
    assert (failed.status, failed.out) == (1, "workflow/w [2J refused\n")
    assert failed.err == "tinkbox: workflow/w [2J refused: it differs\n"
    named = tinkbox("apply", "-f", str(site), "-o", "name")
    assert (named.status, named.out, named.err) == (1, "", failed.err)


def test_a_difference_that_the_answer_has_no_room_for_is_told(
    tinkbox: Tinkbox, appliance: FakeAppliance, site: Path
) -> None:
    whole = result("configured", "node8", old=MANIFEST, new={**MANIFEST, "spec": {"agentID": "x"}})
    short = {name: value for name, value in result("configured").items() if name not in ("old", "new")}
    appliance.answers["POST /v1/apply"] = answer(short, whole, dry_run=True)
    differs = tinkbox("apply", "-f", str(site), "--diff")
    assert differs.status == 1
    assert differs.out.startswith("hardware/node7 configured: what changes is left out\n--- a/hardware/node8\n")


def test_a_difference_is_status_1_and_none_is_0(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    changed = {**MANIFEST, "spec": {"userData": "a\x1b[2J\nb\n"}}
    appliance.answers["POST /v1/apply"] = answer(result("configured", old=MANIFEST, new=changed), dry_run=True)
    differs = tinkbox("apply", "-f", str(site), "--diff")
    assert differs.status == 1
    assert differs.out.startswith("--- a/hardware/node7\n+++ b/hardware/node7\n@@")
    assert "\x1b" not in differs.out
    assert sent(appliance)[0]["dry_run"] is sent(appliance)[0]["diff"] is True
    appliance.answers["POST /v1/apply"] = answer(result("unchanged", old=MANIFEST, new=MANIFEST), dry_run=True)
    assert tinkbox("apply", "-f", str(site), "--diff") == Printed(0, "", "")


def test_of_one_name_in_several_namespaces_each_is_told_with_its_own(
    tinkbox: Tinkbox, appliance: FakeAppliance, site: Path
) -> None:
    def of(namespace: str, outcome: str = "created", kind: str = "template") -> dict[str, object]:
        manifest = {"metadata": {"name": "ubuntu", "namespace": namespace}}
        return result(outcome, "ubuntu", kind, why="busy", namespace=namespace, old=None, new=manifest)

    appliance.answers["POST /v1/apply"] = answer(of("default"), of("a"), of("b", "kept"), of("a", kind="workflow"))
    done = tinkbox("apply", "-f", str(site))
    assert done.out == (
        "template/ubuntu created\ntemplate/ubuntu@a created\ntemplate/ubuntu@b kept\nworkflow/ubuntu created\n"
    )
    assert done.err == "tinkbox: template/ubuntu@b kept: busy\n"
    told = tinkbox("apply", "-f", str(site), "--diff").out
    headers = [each for each in told.splitlines() if each.startswith("+++ ")]
    assert headers == ["+++ b/template/ubuntu", "+++ b/template/ubuntu@a", "+++ b/workflow/ubuntu"]


def test_a_dry_run_says_that_it_is_one(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    appliance.answers["POST /v1/apply"] = answer(result("created"), dry_run=True)
    assert tinkbox("apply", "-f", str(site), "--dry-run").out == "hardware/node7 created (dry run)\n"


def test_folders_that_are_not_read_are_told_and_nothing_is_pruned_beside_them(
    tinkbox: Tinkbox, appliance: FakeAppliance, site: Path
) -> None:
    (site / "hardware").mkdir()
    (site / "hardware" / "node7.yaml").write_text("kind: x\n")
    appliance.answers["POST /v1/apply"] = answer(result("created"))
    done = tinkbox("apply", "-f", str(site))
    assert (done.status, len(sent(appliance)[0]["files"])) == (0, 1)
    assert done.err == f"tinkbox: documents in {site}/hardware are not read: -R reads the folders within too\n"
    for how in ("--yes", "--dry-run", "--diff"):
        refused = tinkbox("apply", "-f", str(site), "--prune", "-l", "rack=r1", how)
        assert (refused.status, "--prune would delete what only they declare: -R" in refused.err) == (1, True)
    assert len(sent(appliance)) == 1
    assert tinkbox("apply", "-R", "-f", str(site), "--prune", "-l", "rack=r1", "--yes").err == ""
    assert len(sent(appliance)[1]["files"]) == 2


def test_pruning_without_a_terminal_needs_yes(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    appliance.answers["POST /v1/apply"] = answer(result("pruned"), dry_run=True)
    refused = tinkbox("apply", "-f", str(site), "--prune", "-l", "rack=r1")
    assert (refused.status, "--yes" in refused.err) == (1, True)
    assert [each["dry_run"] for each in sent(appliance)] == [True]
    tinkbox("apply", "-f", str(site), "--prune", "-l", "rack=r1", "--yes")
    assert sent(appliance)[1] == {**sent(appliance)[1], "prune": "rack=r1"}
    assert "agreed" not in sent(appliance)[1]


def test_pruning_asks_and_deletes_what_was_shown(
    tinkbox: Tinkbox, appliance: FakeAppliance, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appliance.answers["POST /v1/apply"] = answer(result("pruned"), result("kept", "node8", why="busy"), dry_run=True)
    monkeypatch.setattr(questions.Questions, "can_ask", True)
    for typed, asked, status in (("no", 1, 1), ("yes", 3, 1)):
        monkeypatch.setattr("builtins.input", lambda _, typed=typed: typed)
        done = tinkbox("apply", "-f", str(site), "--prune", "-l", "rack=r1")
        assert (done.status, len(appliance.asked)) == (status, asked)
        assert done.err.startswith("hardware/node7 is in no file\n"), "what is not done yet is no result"
        assert ("is in no file" in done.out) is False
    assert sent(appliance)[-1]["agreed"] == ["id-node7"], "as of an earlier release, which tells no time"
    made = "2026-11-28T20:00:00.123456+00:00"
    appliance.answers["POST /v1/apply"] = answer(result("pruned", created_at=made), result("created", "node9"))
    assert tinkbox("apply", "-f", str(site), "--prune", "-l", "rack=r1").status == 0
    assert sent(appliance)[-1]["agreed"] == {"id-node7": made}
    appliance.answers["POST /v1/apply"] = answer(result("created", "node9"))
    tinkbox("apply", "-f", str(site), "--prune", "-l", "rack=r1")
    assert sent(appliance)[-1]["agreed"] == []


def test_of_machines_of_one_name_it_is_told_which_would_be_pruned(
    tinkbox: Tinkbox, appliance: FakeAppliance, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appliance.answers["POST /v1/apply"] = answer({**result("pruned"), "key": "id-node7"}, dry_run=True)
    monkeypatch.setattr(questions.Questions, "can_ask", True)
    monkeypatch.setattr("builtins.input", lambda _: "no")
    done = tinkbox("apply", "-f", str(site), "--prune", "-l", "rack=r1")
    assert done.err.startswith("hardware/node7 (id-node7) is in no file\n")


@pytest.mark.parametrize("flags", [["--prune"], ["-l", "rack=r1"], ["--prune", "-l", "rack=%"]])
def test_pruning_and_a_selector_go_together(tinkbox: Tinkbox, site: Path, flags: list[str]) -> None:
    assert tinkbox("apply", "-f", str(site), *flags).status == 2
    assert tinkbox("apply").status == 2


def test_an_export_is_yaml_or_one_list(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    items = [{"kind": "hardware", "name": "node7", "manifest": MANIFEST}]
    appliance.answers["GET /v1/export?"] = {"items": items * 2, "notes": []}
    shown = tinkbox("export").out
    assert shown.count("kind: Hardware\n") == 2
    assert shown.count("---\n") == 1
    listed = json.loads(tinkbox("export", "-o", "json").out)
    assert (listed["kind"], listed["items"]) == ("List", [MANIFEST, MANIFEST])


def test_an_export_without_what_is_named_ends_with_1(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    notes = [{"line": None, "key": "", "text": "1 workflow left out: made by hand"}]
    given = {"items": [], "notes": notes, "absent": ["workflow/install-1"]}
    appliance.answers["GET /v1/export?what=workflow%2Finstall-1"] = given
    for where in ([], ["--dir", str(tmp_path / "out")]):
        done = tinkbox("export", "workflow/install-1", *where)
        assert (done.status, done.out, done.err) == (1, "", "tinkbox: 1 workflow left out: made by hand\n")
    appliance.answers["GET /v1/export?what=workflow%2Finstall-1"] = given | {"absent": []}
    assert tinkbox("export", "workflow/install-1").status == 0


def test_an_export_asks_for_what_is_named(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    for arguments in (["hardware/node7", "template", "-l", "rack=r1"], ["--workflows"]):
        tinkbox("export", *arguments)
    assert [each.partition("?")[2] for each, _ in appliance.asked] == [
        "what=hardware%2Fnode7&what=template&label=rack%3Dr1",
        (
            "what=hardware&what=template&what=workflowruleset&what=policy&what=task&what=configmap&what=machine.bmc&what=job.bmc&what=task.bmc"
            "&what=workflow"
        ),
    ]


def test_a_folder_gets_a_file_for_each(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    items = [{"kind": "hardware", "name": "node7", "manifest": MANIFEST}]
    appliance.answers["GET /v1/export?"] = {"items": items, "notes": []}
    path = tmp_path / "out" / "hardware" / "node7.yaml"
    assert tinkbox("export", "--dir", str(tmp_path / "out")).out == f"{path} written\n"
    assert tinkbox("export", "--dir", str(tmp_path / "out")).out == f"{path} unchanged\n"
    assert path.read_text().startswith("apiVersion:")


def test_templates_of_one_name_have_a_file_each_by_their_namespaces(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    spaces = {}, {"namespace": "a"}, {"namespace": "b"}
    manifests = [{"kind": "Template", "metadata": {"name": "ubuntu", **each}} for each in spaces]
    items = [{"kind": "template", "name": "ubuntu", "manifest": each} for each in manifests]
    appliance.answers["GET /v1/export?what=template"] = {"items": items, "notes": []}
    paths = [tmp_path / "template" / each for each in ("ubuntu.yaml", "ubuntu@a.yaml", "ubuntu@b.yaml")]
    written = tinkbox("export", "template", "--dir", str(tmp_path))
    assert (written.out, written.err) == ("".join(f"{each} written\n" for each in paths), "")
    assert ["namespace: b" in each.read_text() for each in paths] == [False, False, True]


def test_an_export_tells_which_other_files_stand_there(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    """What was renamed or deleted leaves its file, which `apply` reads."""
    for name in (
        "hardware/node6.yaml",
        "hardware/.hidden.yaml",
        "hardware/notes.txt",
        "template/old.yml",
        "workflow/w.yaml",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for path in ("GET /v1/export?", "GET /v1/export?what=hardware", "GET /v1/export?what=hardware&label=rack%3Dr1"):
        appliance.answers[path] = {"items": [{"kind": "hardware", "name": "node7", "manifest": MANIFEST}], "notes": []}
    told = tinkbox("export", "--dir", str(tmp_path)).err
    assert f"2 other files in {tmp_path}, " in told
    assert f": {tmp_path}/hardware/node6.yaml, {tmp_path}/template/old.yml. " in told
    assert "1 other file in" in tinkbox("export", "hardware", "--dir", str(tmp_path)).err
    assert tinkbox("export", "hardware", "-l", "rack=r1", "--dir", str(tmp_path)).err == ""


def test_all_of_the_other_files_are_named_and_none_of_a_machine_out_of_service(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    gone = [
        {
            "kind": "hardware",
            "name": "old",
            "manifest": {"kind": "Hardware", "metadata": {"name": "old", "namespace": "lab"}},
        },
        {"kind": "hardware", "name": "older", "manifest": {"id": "00000000-0000-0000-0000-000000000001"}},
    ]
    appliance.answers["GET /v1/export?"] = {"items": gone, "notes": []}
    assert tinkbox("export", "--dir", str(tmp_path)).out.count(" written\n") == len(gone)
    appliance.answers["GET /v1/export?"] = {"items": [], "left_out": gone, "notes": []}
    assert tinkbox("export", "--dir", str(tmp_path)).err == ""
    others = [tmp_path / "hardware" / f"zz{number}.yaml" for number in range(1, 10)]
    for each in others:
        each.touch()
    told = tinkbox("export", "--dir", str(tmp_path)).err
    assert (
        f"9 other files in {tmp_path}, which this export did not write: {', '.join(map(str, others))}. Delete" in told
    )


def test_every_file_that_does_not_say_that_its_machine_is_out_of_service_is_named_with_what_writes_it(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    folder, of_2020 = tmp_path / "my site", {"id": "00000000-0000-0000-0000-000000000001"}
    items = [
        *({"kind": "hardware", "name": f"n{number}", "manifest": with_name(f"n{number}")} for number in range(1, 8)),
        {"kind": "hardware", "name": "dup", "manifest": of_2020},
    ]
    appliance.answers["GET /v1/export?"] = {"items": items, "notes": []}
    written = [Path(each.removesuffix(" written")) for each in tinkbox("export", "--dir", str(folder)).out.splitlines()]
    retired = [
        {**each, "manifest": with_retirement(each["manifest"], "no disk"), "key": each["name"]} for each in items
    ]
    retired[-1]["key"] = of_2020["id"]
    absent = {"kind": "hardware", "name": "n9", "manifest": with_retirement(with_name("n9"), ""), "key": "n9"}
    appliance.answers["GET /v1/export?"] = {"items": [], "left_out": [*retired, absent], "notes": []}
    told = tinkbox("export", "--dir", str(folder)).err
    words = " ".join(f"hardware/{each['key']}" for each in retired)
    assert told == (
        f"tinkbox: 8 files in {folder} of machines out of service that do not say so, or not why: "
        f"{', '.join(map(str, written))}. `tinkbox export --dir '{folder}' {words}` writes it there\n"
    )
    appliance.answers["GET /v1/export?what=hardware"] = {"items": retired, "notes": []}
    tinkbox("export", "hardware", "--dir", str(folder))
    assert tinkbox("export", "--dir", str(folder)).err == ""
    written[0].write_text("[")
    written[1].write_text(written[1].read_text().replace("no disk", "no card"))
    (folder / "hardware" / "n1.json").symlink_to("/dev/null")
    (folder / "hardware" / "n2.yml").mkdir()
    told = tinkbox("export", "--dir", str(folder), "-o", "json").err
    assert ": 4 files in " in told
    assert f"--dir '{folder}' -o json hardware/n1 hardware/n2` writes it there; then delete {written[0]}, " in told


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (["hardware"], "no machine has the labels rack=nope: `tinkbox hardware list` shows which have any"),
        (
            [],
            "no machine or template has the labels rack=nope: `tinkbox hardware list` and `tinkbox template list` show",
        ),
        (["Workflows"], "no workflow that is not over has the labels rack=nope: `tinkbox workflow list` shows"),
        (["hardware/node7", "template"], "none of what is named has the labels rack=nope: `tinkbox hardware list` and"),
    ],
)
def test_an_export_of_labels_that_nothing_has_is_refused_and_writes_nothing(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path, what: list[str], told: str
) -> None:
    words = "".join(f"what={each.replace('/', '%2F')}&" for each in what)
    path = f"GET /v1/export?{words}label=rack%3Dnope"
    appliance.answers[path] = {"items": [], "left_out": [], "notes": []}
    for more in ([], ["-o", "json"], ["--dir", str(tmp_path / "site")]):
        refused = tinkbox("export", *what, "-l", "rack=nope", *more)
        assert (refused.status, refused.out) == (1, "")
        assert told in refused.err
    assert not (tmp_path / "site").exists()
    note = {"text": "1 machine out of service left out: name what you want of them"}
    appliance.answers[path] = {"items": [], "left_out": [], "notes": [note]}
    assert tinkbox("export", *what, "-l", "rack=nope").status == 0, "something has them"


def test_an_export_tells_which_folders_may_declare_the_same(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    folder = tmp_path / "my site"
    appliance.answers["GET /v1/export?"] = {
        "items": [
            {"kind": "template", "name": "t", "manifest": {"kind": "Template", "metadata": {"name": "t"}}},
            {"kind": "hardware", "name": "node7", "manifest": MANIFEST},
        ],
        "notes": [],
    }
    for name in ("workflow/w.yaml", "texts/a.txt", ".git/a.yaml"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch()
    assert tinkbox("export", "--dir", str(folder)).err == ""
    for name in ("own/deep", "hardware/rack1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.yaml").touch()
    assert tinkbox("export", "--dir", str(folder)).err == (
        f"tinkbox: there are documents in {folder}/own, {folder}/hardware/rack1 too, maybe of the same things. `tinkbox apply "
        f"-R -f '{folder}'` reads them as well and refuses what is declared twice: then move them away, or leave them out with "
        f"`tinkbox apply -f '{folder}/hardware' -f '{folder}/template'`\n"
    )


def test_json_that_apply_does_not_take_is_told(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    large = {**MANIFEST, "spec": {"userData": "x" * MAX_DOCUMENT}}
    for manifest, is_told in ((MANIFEST, False), (large, True)):
        item = {"kind": "hardware", "name": "node7", "manifest": manifest}
        appliance.answers["GET /v1/export?"] = {"items": [item], "notes": []}
        assert ("takes no list of JSON with more than 1 MiB" in tinkbox("export", "-o", "json").err) is is_told
        assert tinkbox("export").err == ""


def test_an_export_of_a_part_leaves_the_files_of_others_alone(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    """Several of one name: in other namespaces, renamed to it, in the format of 2020, and odd names of before."""
    other = {"metadata": {"name": "dup", "annotations": {"tinkbox.internal/id": "id1"}}}
    of_2020 = {"id": "00000000-0000-0000-0000-000000000001", "network": {}}
    template = {"kind": "Template", "metadata": {"name": "rf"}}
    items = [
        {"kind": "hardware", "name": "dup", "manifest": {**MANIFEST, "metadata": {"name": "dup", "namespace": "aa"}}},
        {"kind": "hardware", "name": "dup", "manifest": {**MANIFEST, "metadata": {"name": "dup", "namespace": "bb"}}},
        {"kind": "hardware", "name": "dup", "manifest": {**MANIFEST, "metadata": {"name": "dup"}}},
        {"kind": "hardware", "name": "dup", "manifest": {**MANIFEST, **other}},
        {"kind": "hardware", "name": "dup", "manifest": of_2020},
        {"kind": "hardware", "name": "dup", "manifest": {**of_2020, "id": "00000000-0000-0000-0000-000000000002"}},
        {"kind": "template", "name": "rf", "manifest": template},
        {"kind": "template", "name": "-rf", "manifest": {**template, "metadata": {"name": "-rf"}}},
    ]

    def exported(*some: dict[str, Any]) -> list[str]:
        appliance.answers["GET /v1/export?"] = {"items": list(some), "notes": []}
        return tinkbox("export", "--dir", str(tmp_path)).out.splitlines()

    written = exported(*items)
    assert len(set(written)) == len(items)
    assert written[:3] == [f"{tmp_path}/hardware/{name}.yaml written" for name in ("dup@aa", "dup@bb", "dup")]
    for each, told in zip(items, written, strict=True):
        assert exported(each) == [told.replace("written", "unchanged")]
    assert exported(*reversed(items)) == [each.replace("written", "unchanged") for each in reversed(written)]


def plan(**changed: object) -> dict[str, object]:
    image = {"name": "write:v1", "digest": "sha256:" + "a" * 64, "elsewhere": False}
    step = {
        "number": 1, "task": "all", "action": "write", "machine": "node7", "image": image, "timeout": 90, "retries": 2,
        "skipped": False, "reboots": False, "disk": "smallest", "wipes": ["smallest"],
    }  # fmt: skip
    machine = {
        "id": "i", "name": "node7", "mac": "08:00:27:00:00:01", "address": "", "architecture": "x86_64", "ticket": False,
        "netboots": ["08:00:27:00:00:01"],
    }  # fmt: skip
    breakpoints = {"on_failure": True, "before": [], "after": [], "timeout": 1, "on_expiry": "fail"}
    return {
        "template": {"id": "t", "name": "install"}, "name": "install", "possible": True, "obstacles": [], "machines": [machine],
        "devices": {"device_1": "08:00:27:00:00:01"}, "unused": ["odd"], "actions": [step], "services": [],
        "breakpoints": breakpoints, "global_timeout": 0, **changed,
    }  # fmt: skip


def test_a_plan_is_shown_with_what_would_be_wiped(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    image = {"name": "files:v1", "digest": "sha256:" + "b" * 64, "elsewhere": False}
    services = [{"name": "files", "host": "the appliance", "image": image}]
    appliance.answers["POST /v1/workflows/plan"] = plan(services=services)
    done = tinkbox("workflow", "plan", "-t", "install", "node7", "--set", "odd=x")
    assert done.status == 0
    boots = "node7 gets a ticket, netboots the OSIE for x86_64 by 08:00:27:00:00:01"
    assert f"Boot:         {boots}\n" in done.out
    assert "Services:     files on the appliance: files:v1 (sha256:bbbbbbbbbbbb)\n" in done.out
    assert "Wipes:        smallest of node7, by write\n" in done.out
    assert "Unused:       odd\n" in done.out
    assert "sha256:aaaaaaaaaaaa " in done.out
    assert sent(appliance) == [{"template": "install", "hardware": {"odd": "x"}, "machine": "node7"}]


def test_a_plan_shows_parameters_of_any_kind(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["POST /v1/workflows/plan"] = plan(devices={"a": "x", "n": 3, "b": True, "m": {"k": [None]}})
    given = '{"n": 3, "b": true, "m": {"k": [null]}}'
    done = tinkbox("workflow", "plan", "-t", "install", "node7", "-r", given)
    assert 'Devices:      a=x, n=3, b=true, m={"k": [null]}\n' in done.out
    assert sent(appliance)[0]["hardware"] == json.loads(given)


@pytest.mark.parametrize(
    ("mac", "told"), [("08:00:27:00:00:01", "node7, 08:00:27:00:00:01, address of the pool"), ("", "node7, no MAC")]
)
def test_a_plan_tells_how_its_machine_is_reached(
    tinkbox: Tinkbox, appliance: FakeAppliance, mac: str, told: str
) -> None:
    machine = {
        "id": "i",
        "name": "node7",
        "mac": mac,
        "address": "",
        "architecture": "",
        "ticket": False,
        "netboots": [],
    }
    appliance.answers["POST /v1/workflows/plan"] = plan(machines=[machine])
    assert f"Machine:      {told}\n" in tinkbox("workflow", "plan", "-t", "install", "node7").out


def test_what_there_is_to_say_of_a_plan_is_told_on_standard_error(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["POST /v1/workflows/plan"] = plan(notes=[{"text": "machine node7 asks for metadata"}])
    done = tinkbox("workflow", "plan", "-t", "install", "node7")
    assert (done.status, done.err) == (0, "tinkbox: machine node7 asks for metadata\n")


def test_a_plan_that_cannot_work_is_status_1(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    problem = {"text": "no value", "line": 3, "key": "x"}
    obstacle = {"text": "invalid template\x1b[2J", "blocks": True, "problems": [problem]}
    appliance.answers["POST /v1/workflows/plan"] = plan(possible=False, obstacles=[obstacle], actions=[], machines=[])
    failed = tinkbox("workflow", "plan", "-t", "install", "node7", "node8")
    assert failed.status == 1
    assert failed.out.count("In the way:\n  invalid template [2J\n    line 3, x: no value\n") == 2
    assert len(json.loads(tinkbox("workflow", "plan", "-t", "install", "node7", "-o", "json").out)) == 1


def test_the_machines_with_a_label_are_planned(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    machines = [{"id": f"id-{number}", "name": f"node{number}"} for number in (10, 2)]
    appliance.answers = {"GET /v1/hardware?label=rack%3Dr1": machines, "POST /v1/workflows/plan": plan()}
    assert tinkbox("workflow", "plan", "-t", "install", "-l", "rack=r1").status == 0
    asked = [json.loads(body)["machine"] for path, body in appliance.asked if body]
    assert asked == ["id-2", "id-10"]
    appliance.answers["GET /v1/hardware?label=rack%3Dr1"] = []
    none = tinkbox("workflow", "plan", "-t", "install", "-l", "rack=r1")
    assert (none.status, "no machine has the labels rack=r1" in none.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "stress=yes", "--set", "stress=no"], "argument --set: stress has two values: leave one of them out"),
        (
            ["-r", '{"stress": "yes"}', "--set", "stress=no"],
            "stress has two values, one of -r and one of --set: leave one",
        ),
        (["-r", '{"stress": "yes", "stress": "no"}'], "stress has two values: leave one of them out"),
    ],
)
def test_a_parameter_with_two_values_is_refused(
    tinkbox: Tinkbox, appliance: FakeAppliance, words: list[str], said: str
) -> None:
    for verb in ("plan", "create"):
        refused = tinkbox("workflow", verb, "-t", "install", "node7", *words)
        assert (refused.status, appliance.asked) == (2, [])
        assert said in refused.err
    appliance.answers["POST /v1/workflows/plan"] = plan()
    same = [each.replace("no", "yes") if "=" in each or "{" in each else each for each in words]
    assert tinkbox("workflow", "plan", "-t", "install", "node7", *same).status == 0
    assert sent(appliance)[0]["hardware"] == {"stress": "yes"}


def test_a_plan_needs_machines_or_devices(tinkbox: Tinkbox) -> None:
    assert tinkbox("workflow", "plan", "-t", "install").status == 2
    assert tinkbox("workflow", "plan", "node7").status == 2


def test_differences_are_documents_to_programs(tinkbox: Tinkbox, appliance: FakeAppliance, site: Path) -> None:
    changed = result("configured", old=MANIFEST, new={**MANIFEST, "spec": {}})
    appliance.answers["POST /v1/apply"] = answer(changed, result("unchanged", "node8"), dry_run=True)
    differs = tinkbox("apply", "-f", str(site), "--diff", "-o", "json")
    assert (differs.status, json.loads(differs.out)) == (1, [changed])
    assert tinkbox("apply", "-f", str(site), "--diff", "-o", "name").out == "hardware/node7\n"


def test_what_was_applied_is_told_to_who_reads_no_longer(
    tinkbox: Tinkbox, appliance: FakeAppliance, site: Path, piped: Callable[[], Callable[[], None]]
) -> None:
    appliance.answers["POST /v1/apply"] = answer(result("created"), result("refused", "node8", why="it differs"))
    piped()()
    ended = tinkbox("apply", "-f", str(site))
    assert (ended.status, ended.err) == (
        141,
        "tinkbox: 1 of 2 was applied; hardware/node8 refused: it differs\n",
    )
