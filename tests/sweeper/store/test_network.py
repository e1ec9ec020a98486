"""A store on a network file system is told of."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from sweeper.store.network import file_system_of, warn_of_network

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
proc /proc proc rw 0 0
server:/home /home nfs4 rw 0 0
//server/share /mnt/with\\040blank cifs rw 0 0
tmpfs /home/me/fast tmpfs rw 0 0
"""


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What psutil reads in place of /proc."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/sweeper.db", "ext4"),
        ("/home/me/sweeper.db", "nfs4"),
        ("/home/me/fast/sweeper.db", "tmpfs"),
        ("/homely/sweeper.db", "ext4"),
        ("/mnt/with blank/sweeper.db", "cifs"),
    ],
)
@pytest.mark.usefixtures("mounts")
def test_the_nearest_mount_counts(path: str, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    assert file_system_of(Path(path)) == kind
    warn_of_network(Path(path))
    assert [f"network file system ({kind})" in record.getMessage() for record in caplog.records] == [True] * (
        kind in ("nfs4", "cifs")
    )


def test_where_mounts_are_not_told_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert file_system_of(tmp_path) == ""
    warn_of_network(tmp_path)
    assert not caplog.records
