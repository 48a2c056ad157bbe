"""What the worker keeps on its machine: below one folder, so that actions can be given parts of it."""

from pathlib import Path

from tinkbox.private_files import Layout
from tinkbox.runtime.authority_file import keep_authority
from tinkbox.runtime.secret_files import SecretFiles
from tinkbox.worker.files.ephemeral_data import EphemeralData
from tinkbox.worker.files.failure_files import Words
from tinkbox.worker.files.helper_files import HelperFiles
from tinkbox.worker.files.journal import Journal
from tinkbox.worker.files.notes import Notes
from tinkbox.worker.files.session_file import SessionFile

# What containers are given has modes for any user; no other user of the machine gets there.
LAYOUT = Layout(
    private=("attempts", "services", "secrets", "session.*", "journal.*", "lock"),
    files=("session.*", "journal.*", "lock"),
    shared=("workflow", "words", "tools", "holds", "reboot", "ca.crt", "services/*/workflow"),
)


class WorkerFolder:
    """The worker's `--data` folder.

    `data` of workflows, `words` of actions, `notes` on attempts, the `journal` of them, the secret of the `session`, `tools` for
    containers, what `services` write, the `authority` that the appliance is trusted by, the `secrets` that containers have as files.
    `dev` is the machine's own /dev, which actions may share.
    """

    def __init__(self, root: Path, dev: Path = Path("/dev")) -> None:
        self._root = root
        self.data = EphemeralData(root / "workflow")
        self.words = Words(root / "words", dev)
        self.notes = Notes(root / "attempts")
        self.journal = Journal(root / "journal.json")
        self.session = SessionFile(root / "session.json")
        self.tools = root / "tools"
        self.services = root / "services"
        self.secrets = SecretFiles(root)

    def helper(self, attempt: str) -> HelperFiles:
        """The files by which the worker speaks with an attempt's helper."""
        return HelperFiles(self._root / "holds", attempt)

    def authority(self, pem: str) -> str:
        """The file with these certificates, for containers; made where it is not there.  Raises OSError."""
        return keep_authority(self._root, pem)

    @property
    def reboot_wanted(self) -> bool:
        """Whether an action asked for the machine to be rebooted or powered off, by writing `reboot` here."""
        return (self._root / "reboot").exists()

    @property
    def kexec_wanted(self) -> bool:
        """Whether it asked for the kernel that it loaded instead, by writing `kexec` there."""
        try:
            return (self._root / "reboot").read_bytes().strip() == b"kexec"
        except OSError:
            return False

    def want_reboot(self) -> None:
        """Have the OSIE reboot the machine once the worker ends."""
        (self._root / "reboot").touch()
