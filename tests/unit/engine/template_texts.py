"""Templates that several tests read."""

MAC = "08:00:27:00:00:01"
SMALL = """\
version: "0.1"
name: small
tasks:
  - name: t
    worker: "{{ .device_1 }}"
    actions:
      - {name: a, image: x}
"""
