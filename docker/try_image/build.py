"""Carries out the instructions of a Dockerfile's stages, in order, each in the tree of its stage."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from docker.try_image.context import Context
from docker.try_image.dockerfile import Instruction, Stage, substituted
from docker.try_image.image import Image
from docker.try_image.sandbox import Identity, Mount, inside, mounting, script
from sweeper.errors import SweeperError, UsageError


@dataclass(frozen=True)
class Surroundings:
    """What a build has from outside: files to copy, arguments, and what only its RUN lines see of this machine."""

    context: Context
    arguments: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: Sequence[Mount] = ()
    said: Callable[[str], None] = print


def build(stages: Sequence[Stage], base: Image, folder: Path, around: Surroundings) -> Image:
    """The last stage's image; each stage gets a tree below `folder`. `base` replaces every other image."""
    made: dict[str, Image] = {}
    for stage in stages:
        below = made.get(stage.base, base)
        if not stage.instructions:
            made[stage.name] = below
            continue
        tree = folder / stage.name
        subprocess.run(["rm", "-rf", tree], check=True)
        _copy_tree(below.tree, tree)
        image = replace(below, tree=tree, environment=dict(below.environment))
        work = _Stage(image, stage, made, around)
        for instruction in stage.instructions:
            around.said(f"{stage.name}: {instruction.word} {instruction.rest}")
            work.carry_out(instruction)
        made[stage.name] = image
    last = made[stages[-1].name]
    last.save()
    return last


class _Stage:
    """One stage while it is built: a method for each instruction, named as the instruction is."""

    def __init__(self, image: Image, stage: Stage, made: Mapping[str, Image], around: Surroundings) -> None:
        self.image, self.made, self.around = image, made, around
        self.defaults = stage.defaults
        self.arguments: dict[str, str] = {}

    def carry_out(self, instruction: Instruction) -> None:
        """Raises UsageError for an instruction that this build does not know, SweeperError for a RUN that fails."""
        method = getattr(self, f"_{instruction.word.lower()}", None)
        if method is None:
            raise UsageError(
                f"the Dockerfile has {instruction.word}, which this build does not know",
                "add a method of that name to docker/try_image/build.py",
            )
        method(instruction.rest)

    def _filled(self, text: str) -> str:
        return substituted(text, {**self.arguments, **self.image.environment})

    def _arg(self, rest: str) -> None:
        name, given, default = rest.partition("=")
        value = self.around.arguments.get(name, self._filled(default) if given else self.defaults.get(name))
        if value is not None:
            self.arguments[name] = value

    def _env(self, rest: str) -> None:
        self.image.environment |= dict(pair.split("=", 1) for pair in shlex.split(self._filled(rest)))

    def _shell(self, rest: str) -> None:
        self.image.shell = json.loads(rest)

    def _workdir(self, rest: str) -> None:
        self.image.folder = self._filled(rest)
        (self.image.tree / self.image.folder.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _user(self, rest: str) -> None:
        self.image.user = self._filled(rest)

    def _volume(self, rest: str) -> None:
        self.image.volumes = json.loads(rest)

    def _expose(self, _: str) -> None:
        """A note for people: publishes nothing."""

    def _entrypoint(self, rest: str) -> None:
        self.image.entrypoint = json.loads(rest)

    def _cmd(self, rest: str) -> None:
        self.image.command = json.loads(rest)

    def _healthcheck(self, rest: str) -> None:
        self.image.health = ["CMD", *json.loads(rest.partition("CMD ")[2])]

    def _run(self, rest: str) -> None:
        if rest.startswith(("--", "<<")):
            raise UsageError(f"RUN {rest.split()[0]} is more than a command", "write RUN with a command only")
        environment = {**self.arguments, **self.around.environment, **self.image.environment}
        command = inside(
            self.image.tree,
            [*self.image.shell, rest],
            identity=Identity.read(self.image.user),
            folder=self.image.folder,
            environment={"HOME": "/root", **environment},
        )
        done = subprocess.run(script(mounting(self.image.tree, self.around.mounts), command))
        if done.returncode:
            raise SweeperError(f"RUN {rest} ended with exit code {done.returncode}", "see what it printed above")

    def _copy(self, rest: str) -> None:
        options = [word for word in shlex.split(rest) if word.startswith("--")]
        *sources, target = (word for word in shlex.split(self._filled(rest)) if not word.startswith("--"))
        given = dict(option[2:].split("=", 1) for option in options)
        if unknown := set(given) - {"from", "chmod"}:
            raise UsageError(
                f"COPY --{unknown.pop()} is not known to this build", "add it to docker/try_image/build.py"
            )
        if "from" in given:
            (source,) = sources
            _copy_tree(self.made[given["from"]].tree / source.lstrip("/"), self.image.tree / target.lstrip("/"))
            return
        for source in sources:
            self._copy_source(source, target, int(given["chmod"], 8) if "chmod" in given else None)

    def _copy_source(self, source: str, target: str, mode: int | None) -> None:
        files = self.around.context.files(source)
        if not files:
            raise UsageError(f"COPY {source}: nothing of it is there", "look into .dockerignore")
        for path in files:
            inner = path.relative_to(source)
            to_folder = target.endswith("/") and inner == PurePosixPath(".")
            place = self.image.tree / target.lstrip("/") / (path.name if to_folder else inner)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.around.context.root / path, place)
            if mode is not None:
                place.chmod(mode)


def _copy_tree(source: Path, target: Path) -> None:
    """A copy with owners, modes and links; only root keeps owners."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "--archive", "--no-target-directory", source, target], check=True)
