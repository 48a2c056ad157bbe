"""YAML as Go programs of Kubernetes read and write it: sigs.k8s.io/yaml 1.6, which is JSON and go.yaml.in/yaml/v2.

`write()` makes JSON of a value and writes that as YAML; `read()` reads a text as YAML 1.1, makes JSON of it, and
that a value.  Both are bounded and raise GoError and nothing else.  Values are those of tinkbox.gotemplate.

    read:   text -> nodes -> resolution, reading -> value
    write:  value -> writing -> emitter (with resolution, key_order) -> text

PyYAML finds the tokens and their structure.  Different from Go on purpose: at most 100 levels and 100 aliases; of keys that are equal
in JSON, such as `1` and `"1"`, the last counts, where Go takes any.
"""

from tinkbox.goyaml.emitter import TooMuch
from tinkbox.goyaml.reading import read
from tinkbox.goyaml.writing import write

__all__ = ["TooMuch", "read", "write"]
