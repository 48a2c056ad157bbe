"""The project's rules, held by a machine; each failure says why the rule exists.

An exception to a rule stands in a list here with its reason, and the list itself fails when an entry is stale.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tinkbox.engine.documents.kubernetes import take, take_hardware
from tinkbox.engine.rules import transitions as engine_states
from tinkbox.engine.templates.rendering import render, rendering_data
from tinkbox.model import reasons, template
from tinkbox.model.documents.hardware import hardware_from_document, parse_hardware
from tinkbox.model.documents.kubernetes import SHAPES, UNHEEDED, paths
from tinkbox.model.reasons import Giver, Reason
from tinkbox.settings import load, reference
from tinkbox.worker import transitions as worker_states

ROOT = Path(__file__).parent.parent
PROGRAM = sorted((ROOT / "tinkbox").rglob("*.py"))
# Where the reasons are named that each of them gives.
GIVERS = {
    Giver.WORKER: ("worker", "runtime", "model/breakpoint.py", "model/disks/choice.py"),
    Giver.HOST: ("hosting", "runtime"),
    Giver.APPLIANCE: ("engine", "model"),
}
# Words that are vague, but name one thing here.
NAMES: dict[str, str] = {}
ENVIRONMENT = {
    "settings/environment.py": "the one reader",
    "confinement/giving_up.py": "empties it",
    "osie/build.py": "hands it on to the programs that it starts",
    "osie/programs.py": "hands it on to the programs that it starts",
}
VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT / "tinkbox"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def naming(word: str, paths: Iterable[Path]) -> Iterator[Path]:
    """The files in which it stands; to parse the others, hundreds of them, takes seconds."""
    return (path for path in paths if word in path.read_text())


def test_a_file_is_named_for_what_it_holds() -> None:
    vague = {relative(path) for path in PROGRAM if path.stem in VAGUE}
    assert vague <= set(NAMES), f"name these for what they give: {sorted(vague - set(NAMES))}"
    assert set(NAMES) <= vague, f"gone, take off the list: {sorted(set(NAMES) - vague)}"


def test_no_test_waits_by_sleeping() -> None:
    sleepers = []
    for path in naming("sleep", sorted((ROOT / "tests").rglob("test_*.py"))):
        for node in ast.walk(parsed(path)):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr == "sleep" and ast.unparse(called) == "time.sleep":
                sleepers.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not sleepers, f"wait for what you wait for, with a deadline: {sleepers}"


@pytest.mark.parametrize(("name", "module"), [("states", engine_states), ("attempt", worker_states)])
def test_the_state_diagrams_in_the_docs_are_the_tables(name: str, module: ModuleType) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    shown = text.split(f"<!-- {name}:begin -->")[1].split(f"<!-- {name}:end -->")[0].strip()
    assert shown == module.mermaid().strip(), f"paste the output of {module.__name__}.mermaid() between the markers"


def test_the_settings_in_the_docs_are_the_declarations() -> None:
    text = (ROOT / "docs" / "operating.md").read_text()
    shown = text.split("<!-- settings:begin -->")[1].split("<!-- settings:end -->")[0].strip()
    assert shown == reference.markdown(), (
        "paste the output of tinkbox.settings.reference.markdown() between the markers"
    )


def test_only_the_settings_read_the_environment() -> None:
    readers = {relative(path) for path in PROGRAM if re.search(r"\bos\.(environ|getenv)\b", path.read_text())}
    strange = sorted(readers - set(ENVIRONMENT))
    assert not strange, f"a setting is declared in tinkbox/settings and passed on as an argument: {strange}"
    assert set(ENVIRONMENT) <= readers, f"gone, take off the list: {sorted(set(ENVIRONMENT) - readers)}"


def reasons_named(package: str) -> set[str]:
    """The members of `Reason` that the code of a package, or a file of it, speaks of."""
    path = ROOT / "tinkbox" / package
    files = naming("Reason", path.rglob("*.py") if path.is_dir() else [path])
    nodes = (node for each in files for node in ast.walk(parsed(each)))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Reason"}


@pytest.mark.parametrize(("giver", "packages"), GIVERS.items(), ids=str)
def test_every_reason_is_given_by_those_who_are_said_to_give_it(giver: Giver, packages: tuple[str, ...]) -> None:
    named = set().union(*map(reasons_named, packages))
    assert {reason.name for reason in Reason if giver in reason.givers} <= named


def test_no_reason_of_ours_is_text() -> None:
    # mypy lets nothing pass as a reason but a member of `Reason` and what is marked as text from elsewhere.
    marked = []
    for path in naming("ReasonText", PROGRAM):
        calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
        texts = [
            call for call in calls if "ReasonText" in (getattr(call.func, "id", ""), getattr(call.func, "attr", ""))
        ]
        ours = [text for text in texts if any(isinstance(part, ast.Constant) and part.value for part in text.args)]
        marked += [f"{relative(path)}:{call.lineno}" for call in ours]
    assert not marked, f"make it a member of tinkbox.model.reasons.Reason: {marked}"


def test_the_reasons_in_the_docs_are_the_table() -> None:
    text = (ROOT / "docs" / "actions.md").read_text()
    shown = text.split("<!-- reasons:begin -->")[1].split("<!-- reasons:end -->")[0].strip()
    assert shown == reasons.markdown(), "paste the output of tinkbox.model.reasons.markdown() between the markers"


def test_the_configuration_in_the_docs_loads(tmp_path: Path) -> None:
    shown = (ROOT / "docs" / "operating.md").read_text()
    (example,) = re.findall(r"```yaml\n(# tinkbox\.yaml.*?)```", shown, re.DOTALL)
    path = tmp_path / "tinkbox.yaml"
    path.write_text(example)
    load(path)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.json")), ids=str)
def test_every_hardware_example_is_accepted(path: Path) -> None:
    assert hardware_from_document(json.loads(path.read_text())).interfaces


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("template*.yaml")), ids=str)
async def test_every_template_example_renders(path: Path) -> None:
    machine = parse_hardware((ROOT / "examples" / "demo" / "hardware.json").read_bytes())
    data = rendering_data(
        {"device_1": "08:00:27:00:00:01", "provisioner": "provisioner"}, machine, "0c1f6f5d-8a0c-4c51-8f0f-54f6d1a9e5b2"
    )
    assert (await render(path.read_text(), data)).definition.tasks


async def test_every_kubernetes_example_is_accepted_and_renders() -> None:
    for path in sorted((ROOT / "examples").rglob("kubernetes*.yaml")):
        (machine,), _ = take_hardware(path.read_text())
        (text,), (workflow,) = (take(path.read_text(), kind).objects for kind in ("Template", "Workflow"))
        data = rendering_data(workflow.spec["hardwareMap"], machine)
        assert (await render(text.spec["data"], data)).definition.tasks
        assert (workflow.spec["templateRef"], workflow.spec["hardwareRef"]) == (text.name, machine.name)


def documented(name: str) -> dict[str, str]:
    """The rows of a table in docs/templates.md: each field with what its last column says."""
    text = (ROOT / "docs" / "templates.md").read_text()
    table = text.split(f"<!-- {name}:begin -->")[1].split(f"<!-- {name}:end -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    return {row[0].strip("`"): row[-1] for row in rows}


def test_every_field_of_a_template_is_documented() -> None:
    actions = [key for key in template.ACTION_KEYS if key != "namespaces"]
    known = {
        *(key for key in template.ROOT_KEYS if key not in {"tasks", "breakpoint", "metadata", "services"}),
        *(f"metadata.{key}" for key in template.METADATA_KEYS),
        *(f"breakpoint.{key}" for key in template.BREAKPOINT_KEYS),
        *(f"tasks[].{key}" for key in template.TASK_KEYS if key != "actions"),
        *(f"tasks[].actions[].{key}" for key in actions),
        *(f"tasks[].actions[].namespaces.{key}" for key in template.NAMESPACE_KEYS),
    }
    shown = documented("fields")
    assert set(shown) == known, f"docs/templates.md and tinkbox.model.template differ: {sorted(set(shown) ^ known)}"


def test_every_field_of_a_service_is_documented() -> None:
    known = {
        *(f"services[].{key}" for key in template.SERVICE_KEYS if key != "healthcheck"),
        *(f"services[].healthcheck.{key}" for key in template.HEALTHCHECK_KEYS),
    }
    shown = documented("services")
    assert set(shown) == known, f"docs/templates.md and tinkbox.model.template differ: {sorted(set(shown) ^ known)}"


async def test_the_services_in_the_docs_are_accepted() -> None:
    shown = (ROOT / "docs" / "templates.md").read_text()
    (services,) = re.findall(r"```yaml\n(services:.*?)```", shown, re.DOTALL)
    text = (ROOT / "examples" / "templates" / "template-2020.yaml").read_text()
    rendered = await render(services + text, rendering_data({"device_1": "08:00:27:00:00:01"}, None))
    assert rendered.definition.services[0].labels[1] == ("tinkbox.boot.ipxe", "/boot/auto.ipxe")


@pytest.mark.parametrize("kind", SHAPES)
def test_every_field_of_a_kubernetes_document_is_documented(kind: str) -> None:
    known, shown = set(paths(SHAPES[kind])), documented(kind)
    assert set(shown) == known, (
        f"docs/templates.md and tinkbox.model.documents.kubernetes differ: {sorted(set(shown) ^ known)}"
    )
    for field, told in shown.items():
        unheeded = [each for name, each in UNHEEDED[kind].items() if re.match(rf"{re.escape(name)}(?![A-Za-z])", field)]
        expected = [f"{'left out' if each.leaves_out else 'not honoured'}: {each.text}" for each in unheeded]
        assert expected == [told] or (not expected and not told.startswith(("left out: ", "not honoured"))), field


def test_every_refusal_is_raised_somewhere() -> None:
    source = "\n".join(path.read_text() for path in PROGRAM)
    for name in ("NotFound", "Invalid", "Conflict", "TooLarge", "Denied", "Forbidden", "Unavailable"):
        assert re.search(rf"(raise|return) {name}\(", source), f"{name} is declared and never raised: delete it"
