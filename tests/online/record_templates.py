"""Fills tests/golden/gotemplate/cases.json with what Go makes of the templates in it, with the data that they name.

    .venv/bin/python -m tests.online.record_templates

To add a case, write its template and the name of its data at the end, and record the file again.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from tests.online.real_go import answers, built

RECORDED = Path(__file__).parents[1] / "golden" / "gotemplate" / "cases.json"
BETWEEN = '}, "cases": [\n'
LINE = re.compile(r"template: [^:]*:([0-9]+):")


def main() -> None:
    text = RECORDED.read_text(encoding="utf-8")
    recorded = json.loads(text)
    cases, data = recorded["cases"], recorded["data"]
    questions = [{"template": each["template"], "data": data[each["data"]], "functions": "few"} for each in cases]
    with tempfile.TemporaryDirectory() as folder:
        told = answers(built("go_templates", Path(folder)), questions)
    lines = [
        json.dumps(
            {"template": case["template"], "data": case["data"], **_made(go)}, ensure_ascii=False, separators=(",", ":")
        )
        for case, go in zip(cases, told, strict=True)
    ]
    # The data stays as it is written: 1e21 is a float64, and 1000000000000000000000 is none.
    written = text.partition(BETWEEN)[0] + BETWEEN + ",\n".join(lines) + "\n]}\n"
    RECORDED.write_text(written, encoding="utf-8")


def _made(go: dict[str, Any]) -> dict[str, Any]:
    """The output, or the line that Go's error names, 0 if it names none."""
    if "output" in go:
        return {"output": go["output"]}
    named = LINE.match(go["error"])
    return {"error_line": int(named[1]) if named else 0}


if __name__ == "__main__":
    main()
