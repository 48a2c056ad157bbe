"""Templates for tests of what happens to running workflows."""

RETRIES = """\
version: "0.1"
name: retries
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: flaky, image: x, timeout: 60, retries: 2}
      - {name: last, image: x, timeout: 60}
"""
REBOOT = """\
version: "0.1"
name: reboots
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: write, image: x, timeout: 60}
      - {name: reboot, image: x, timeout: 300, reboot: true}
"""
THROUGH = """\
version: "0.1"
name: through
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: reboot, image: x, timeout: 300, reboot: true}
      - {name: check, image: x, timeout: 60}
"""
PARTING = """\
version: "0.1"
name: parting
tasks:
  - {name: one, worker: "{{.a}}", actions: [{name: reboot, image: x, timeout: 300, reboot: true}]}
  - {name: two, worker: "{{.b}}", actions: [{name: rest, image: x, timeout: 60}]}
"""
LIMITED = """\
version: "0.1"
name: limited
global_timeout: 100
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: one, image: x, timeout: 3600}
      - {name: two, image: x, timeout: 3600, reboot: true, retries: 5}
"""
