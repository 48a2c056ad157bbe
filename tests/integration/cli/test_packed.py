"""The packed executable renders templates as the program from source does."""

from pathlib import Path

from tests.integration.cli.serving import ROOT, configure, run_here, serving

PACKED = ROOT / "dist" / "tinkbox"
TEMPLATE = """\
version: "0.1"
name: t
tasks:
  - name: t
    worker: "{{ device_1 }}"
    actions: [{name: a, image: x, environment: {A: "EXPRESSION"}}]
"""


def test_templates_render_in_processes_that_use_what_is_unpacked_already(tmp_path: Path) -> None:
    assert PACKED.exists(), f"{PACKED.relative_to(ROOT)} is missing: `make test` builds it before it runs the tests"
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    configuration = configure(tmp_path)
    here = ("--data", str(configuration.data))
    hardware = str(ROOT / "examples" / "demo" / "hardware.json")

    def validated(text: str) -> tuple[int, str]:
        ended = run_here(*here, "template", "validate", stdin=text.encode())
        return ended.status, ended.out + ended.err

    with serving(configuration, [str(PACKED)], {"TMPDIR": str(unpacked)}):
        assert run_here(*here, "hardware", "push", "--file", hardware).status == 0
        jinja = TEMPLATE.replace("EXPRESSION", "{{ hardware.metadata.name | upper }}")
        assert validated(jinja) == (0, "server001: ok\nthe template is valid\n")
        go = TEMPLATE.replace("{{ d", "{{ .d").replace(
            "EXPRESSION", "{{ regexReplaceAll `(a|b)+` .device_1 `x` | sha256sum }}"
        )
        assert validated(go) == (0, "server001: ok\nthe template is valid\n")
        status, said = validated(TEMPLATE.replace("EXPRESSION", "{{ 9 ** (9 ** 9) }}"))
        assert (status, "rendering takes more than 5 seconds" in said) == (1, True)
        assert validated(jinja)[0] == 0
        assert len(list(unpacked.iterdir())) == 1
    assert list(unpacked.iterdir()) == []
