"""Actions and services are programs that find their modules beside them, as they do in their containers."""

import sys
from pathlib import Path

ACTIONS = Path(__file__).parents[3] / "examples" / "actions"
SERVICES = ACTIONS.parent / "services"
sys.path[:0] = [str(ACTIONS), *(str(ACTIONS / name) for name in ("install-image", "kexec"))]
sys.path.append(str(SERVICES / "password-receiver"))
