"""Forty machines from a CSV, into an appliance of its own process."""

import json
from pathlib import Path

import pytest

from tests.integration.cli.serving import Configuration, Ended, run_here

MACHINES = 40


def lines(network: int = 30) -> str:
    rows = [
        f"08:00:27:00:01:{number:02x},node{number:02},172.{network}.0.{number}/24,r{number % 4};"
        for number in range(1, MACHINES + 1)
    ]
    return "mac,name,ip,label:rack\n" + "".join(row.rstrip(";") + "\n" for row in rows)


@pytest.fixture
def run(appliance: Configuration):
    def run(*words: str, stdin: str = "") -> Ended:
        return run_here("--data", str(appliance.data), *words, stdin=stdin.encode())

    return run


def test_forty_machines_are_imported_kept_and_changed(run, tmp_path: Path) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(lines())
    assert run("hardware", "import", str(path), "--dry-run").out.endswith("40 machines: 40 would be made\n")
    assert run("hardware", "list", "-q").out == ""
    assert run("hardware", "import", str(path), "-l", "site=ber").out.endswith("40 machines: 40 made\n")
    assert run("hardware", "import", str(path), "-l", "site=ber").out == "40 machines: 40 unchanged\n"
    assert len(run("hardware", "list", "-q", "-l", "rack=r1,site=ber").out.splitlines()) == 10
    moved = run("hardware", "import", "-", stdin=lines(31))
    assert (moved.status, moved.out.splitlines()[-1]) == (
        0,
        "40 machines: 40 differ and were left alone (--update changes them)",
    )
    assert run("hardware", "import", "-", "--update", stdin=lines(31)).out.endswith("40 machines: 40 updated\n")
    wrong = lines(31).replace("08:00:27:00:01:03", "08:00:27:00:01:3").replace("node05", "Node 5")
    refused = run("hardware", "import", "-", stdin=wrong)
    assert (refused.status, [line.split(":")[0].strip() for line in refused.err.splitlines()[1:]]) == (
        1,
        ["line 4", "line 6"],
    )
    back = json.loads(run("hardware", "get", "node07", "-o", "json").out)
    assert back["interfaces"][0]["address"] == "172.31.0.7"


def test_a_machine_is_edited_retired_and_taken_back(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("hardware", "add", "08:00:27:00:02:01", "--name", "box1", "-l", "a=b", "--note", "loud").status == 0
    script = tmp_path / "editor.sh"
    script.write_text("#!/bin/sh\nsed -i 's/name: box1/name: box2/; s/a: b/a: c/' \"$1\"\n")
    script.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    assert run("hardware", "edit", "box1").out == "Edited box2 08:00:27:00:02:01\n"
    told = run("hardware", "get", "box2").out
    assert "a=c" in told
    script.write_text("#!/bin/sh\necho 'kind: [' > \"$1\"\n")
    refused = run("hardware", "edit", "box2")
    assert refused.status == 1
    assert "; nothing was stored, so type `tinkbox --data " in refused.err
    assert " hardware edit box2` again: what you wrote is in " in refused.err
    assert "line " in refused.err
    kept = Path(refused.err.splitlines()[0].rpartition(" is in ")[2])
    assert kept.read_text().endswith("kind: [\n")
    kept.unlink()
    kept.parent.rmdir()
    assert ": loud" in told
    assert run("hardware", "retire", "box2", "--reason", "board broken").out == "Retired box2\n"
    assert "board broken" in run("hardware", "get", "box2").out
    assert "box2" in run("hardware", "list", "--retired").out
    assert "box2" not in run("hardware", "list").out
    assert run("hardware", "return", "box2").out == "Returned to service: box2\n"
    assert "was retired from" in run("hardware", "note", "box2").out
    assert run("hardware", "delete", "box2").status == 0


def test_a_line_with_the_agent_id_of_a_machine_is_refused_in_the_dry_run_as_in_the_import(run) -> None:
    pushed = {
        "apiVersion": "tinkerbell.org/v1alpha1", "kind": "Hardware", "metadata": {"name": "kk"}, "spec": {"agentID": "10.0.9.9"}
    }  # fmt: skip
    assert run("hardware", "push", stdin=json.dumps(pushed)).status == 0
    listed = "mac,name,ip\n08:00:27:00:06:01,new1,10.0.9.9/24\n08:00:27:00:06:02,new2,10.0.9.10/24\n"
    told = "line 2: 08:00:27:00:06:01: 10.0.9.9 is the agent id of kk\n"
    dry = run("hardware", "import", "-", "--dry-run", stdin=listed)
    assert dry.out.endswith("2 machines: 1 would be made, 1 refused: nothing would be stored\n")
    assert "10.0.9.9 is the agent id of kk" in dry.out + dry.err
    refused = run("hardware", "import", "-", stdin=listed)
    assert (refused.status, refused.err.splitlines(keepends=True)[1].lstrip()) == (1, told)
    done = run("hardware", "import", "-", "--skip-invalid", "-o", "name", stdin=listed)
    assert (done.out, done.err) == ("new2\n", f"tinkbox: refused: {told}")


def test_the_names_that_are_printed_mean_what_was_stored_and_nothing_else(run) -> None:
    """A refused line has the name of another machine, and of two machines of one name each has only its id."""
    assert run("hardware", "add", "08:00:27:00:03:03", "--name", "node3").status == 0
    named = run("hardware", "import", "-", "--skip-invalid", "-o", "name", stdin="mac,name\n08:00:27:00:03:0a,node3\n")
    assert (named.status, named.out) == (0, "")
    assert named.err == "tinkbox: refused: line 2: 08:00:27:00:03:0a: the name node3 belongs to node3 already\n"
    twins = "".join(
        json.dumps({"id": f"00000000-0000-0000-0000-00000000000{number}", "metadata": {}, "network": {"interfaces": [
            {"dhcp": {"mac": f"08:00:27:00:04:0{number}", "hostname": "twin"}, "netboot": {}}
        ]}}) + "\n"
        for number in (1, 2)
    )  # fmt: skip
    for each in twins.splitlines():
        assert run("hardware", "push", stdin=each).status == 0
    listed = "mac\n08:00:27:00:04:01\n08:00:27:00:03:03\n08:00:27:00:05:01\n"
    dry = run("hardware", "import", "-", "-o", "name", "--dry-run", stdin=listed).out.split()
    done = run("hardware", "import", "-", "-o", "name", stdin=listed).out.split()
    assert done[:2] == dry[:2] == ["00000000-0000-0000-0000-000000000001", "node3"]
    assert run("hardware", "label", *done, "named=here").status == 0
    assert len(run("hardware", "list", "-q", "-l", "named=here").out.split()) == len(done) == 3
