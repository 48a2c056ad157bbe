"""Fills tests/golden/sprig/snippets.json with what Go makes of the templates in it, and of the data that they name.

    .venv/bin/python -m tests.online.record_snippets

To add a case, write its template and the name of its data (snippets.py has them) at the end, and record the file again.
"""

import json
import tempfile
from pathlib import Path

from tests.online.real_go import answers, built
from tests.online.snippets import asked

RECORDED = Path(__file__).parents[1] / "golden" / "sprig" / "snippets.json"


def main() -> None:
    cases = json.loads(RECORDED.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        program = built("go_templates", Path(folder))
        told = answers(program, [{"template": each["template"], "data": asked(each["data"])} for each in cases])
    lines = []
    for case, go in zip(cases, told, strict=True):
        made = {"output": go["output"]} if "output" in go else {"refused": True}
        lines.append(json.dumps({"template": case["template"], "data": case["data"], **made}, ensure_ascii=False))
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
