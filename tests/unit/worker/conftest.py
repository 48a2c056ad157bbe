import pytest


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks again asks at once."""
    monkeypatch.setattr("tinkbox.worker.patience.FIRST_WAIT", 0.0)
    monkeypatch.setattr("tinkbox.worker.leash.PAUSE", 0.0)
