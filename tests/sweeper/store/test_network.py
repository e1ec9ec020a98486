"""A store on a network file system is told of."""

from __future__ import annotations

from pathlib import Path

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
def mounts(tmp_path: Path) -> Path:
    (tmp_path / "mounts").write_text(MOUNTS)
    return tmp_path / "mounts"


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
def test_the_nearest_mount_counts(path: str, kind: str, mounts: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert file_system_of(Path(path), mounts) == kind
    warn_of_network(Path(path), mounts)
    assert [f"network file system ({kind})" in record.getMessage() for record in caplog.records] == [True] * (
        kind in ("nfs4", "cifs")
    )


def test_where_mounts_are_not_told_nothing_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert file_system_of(tmp_path, tmp_path / "none") == ""
    warn_of_network(tmp_path, tmp_path / "none")
    assert not caplog.records
