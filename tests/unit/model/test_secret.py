"""Which secrets a text asks for."""

import pytest

from tinkbox.model.secret import asked_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('command: ["/bin/sh", "-c", "echo bin"]\n# secret things of bin', set()),
        ('  environment: {A: "{{ secret \\"a-key\\" }}", B: \'{{ secret "b.key" | b64enc }}\'}', {"a-key", "b.key"}),
        ("  x: {{ secret('c') }} {{- secret `d` }} {{ (secret \"e\") }}", {"c", "d", "e"}),
        ('  y: {{ .secret "f" }} {{ my_secret "g" }} {{ $secret "h" }}', set()),
        (
            "    secrets: [tls-key, {name: ca, file: /run/secrets/bin}, {env: PW, name: 'db'}]  # not this\n    image: bin",
            {"tls-key", "ca", "db"},
        ),
        (
            "  secrets:\n  - tls-key   # the file\n  - {name: ca, env: bin}\n  - name: db\n    file: /run/secrets/sh\n  command: [bin]",
            {"tls-key", "ca", "db"},
        ),
        (
            "- secrets:\n    - \"one\"\n\n    - 'two'\n  image: bin\n  secrets: [\n    three\n  ]\n  name: four",
            {"one", "two", "three"},
        ),
    ],
)
def test_template_asks_for_the_secrets_that_it_names_as_such_and_no_other_word(text: str, names: set[str]) -> None:
    assert asked_in(text) == names
