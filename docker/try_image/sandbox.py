"""A command in a tree of its own: in new namespaces, with what is mounted into the tree, and chroot."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import UsageError

PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Mount:
    """A file or folder of this machine, seen at `target` inside a tree."""

    source: Path
    target: str
    read_only: bool = True


@dataclass(frozen=True)
class Identity:
    """Who a command runs as inside a tree; `bare` takes all capabilities away and lets it gain none."""

    user: int = 0
    group: int = 0
    bare: bool = False

    @classmethod
    def read(cls, written: str) -> Identity:
        """Of USER's `uid:gid`; the empty text is root."""
        user, _, group = (written or "0:0").partition(":")
        if not (user.isdecimal() and group.isdecimal()):
            raise UsageError(f"USER {written} is not two numbers", "write USER uid:gid: names can mean other users")
        return cls(int(user), int(group))

    def words(self) -> list[str]:
        """The command that becomes this user."""
        bare = ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"] if self.bare else []
        return ["setpriv", f"--reuid={self.user}", f"--regid={self.group}", "--clear-groups", *bare]


def inside(
    tree: Path, command: Sequence[str], *, identity: Identity, folder: str, environment: Mapping[str, str]
) -> list[str]:
    """The words that run a command in a tree, as a user, in a folder, with this environment and nothing else."""
    return ["chroot", str(tree), *as_user(command, identity=identity, folder=folder, environment=environment)]


def as_user(command: Sequence[str], *, identity: Identity, folder: str, environment: Mapping[str, str]) -> list[str]:
    """The same for whoever is inside the tree already."""
    settings = [f"{name}={value}" for name, value in environment.items()]
    return [*identity.words(), "env", "--ignore-environment", f"--chdir={folder or '/'}", *settings, *command]


def mounting(tree: Path, mounts: Iterable[Mount]) -> str:
    """Shell lines that mount /proc and the mounts into a tree; their places are made where they are not there."""
    lines = [f"mount -t proc proc {shlex.quote(f'{tree}/proc')}"]
    for mount in mounts:
        source, target = shlex.quote(str(mount.source)), shlex.quote(f"{tree}{mount.target}")
        make = f"mkdir -p {target}" if mount.source.is_dir() else f"mkdir -p $(dirname {target}) && touch {target}"
        lines += [make, f"mount --bind {source} {target}"]
        if mount.read_only:
            lines.append(f"mount -o remount,bind,ro {target}")
    return "\n".join(lines)


def script(lines: str, command: Sequence[str]) -> list[str]:
    """The words that carry out shell lines in namespaces for mounts and processes, then become the command.

    All processes end with the first of them, and that ends when whoever started it is killed.
    """
    body = f"set -eu\n{lines}\nexec {shlex.join(command)}"
    return ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", body]
