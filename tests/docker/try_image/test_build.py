"""The instructions of a Dockerfile, carried out in a small tree that has this machine's programs mounted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from docker.try_image.build import Surroundings, build
from docker.try_image.context import Context
from docker.try_image.dockerfile import instructions, needed, stages
from docker.try_image.image import Image
from docker.try_image.sandbox import Mount
from sweeper.errors import SweeperError, UsageError

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "chroot", "setpriv"))), reason="needs root and chroot"
)
PROGRAMS = Mount(Path("/usr"), "/usr")


@pytest.fixture
def base(tmp_path: Path) -> Image:
    """A tree of links into /usr, which `PROGRAMS` mounts."""
    tree = tmp_path / "base"
    for name in ("usr", "proc", "tmp", "etc"):
        (tree / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (tree / name).symlink_to(f"usr/{name}")
    return Image(tree)


def built(text: str, base: Image, folder: Path, **arguments: str) -> Image:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    around = Surroundings(Context(source), arguments, {"OUTER": "seen"}, [PROGRAMS], lambda _: None)
    found = stages(text, arguments)
    return build(needed(found, found[-1].name), base, folder / "trees", around)


def test_run_sees_arguments_settings_folder_and_user(base: Image, tmp_path: Path) -> None:
    text = """
        ARG COLOUR=red
        FROM debian:1.2.3 AS only
        ARG COLOUR
        ARG SHAPE=round
        ARG UNSET
        ENV PATH=/own/bin:$PATH NAME="two words"
        RUN mkdir /out && chmod 777 /out
        WORKDIR /out
        USER 10001:10001
        SHELL ["/bin/bash", "-o", "pipefail", "-c"]
        RUN echo "$COLOUR $SHAPE ${UNSET-unset} $NAME $OUTER ${PATH%%:*} $PWD $(id -u):$(id -g)" > said
    """
    image = built(text, base, tmp_path, COLOUR="blue")
    said = (image.tree / "out/said").read_text()
    assert said == "blue round unset two words seen /own/bin /out 10001:10001\n"
    assert image.environment["NAME"] == "two words"
    assert "OUTER" not in image.environment
    assert "COLOUR" not in image.environment


def test_a_stage_begins_as_the_one_below_and_copies_from_others(base: Image, tmp_path: Path) -> None:
    text = """
        FROM debian:1.2.3 AS below
        RUN mkdir -p /a/b && echo built > /a/b/c && chown 7:8 /a/b/c
        FROM debian:1.2.3 AS last
        COPY --from=below /a /z
    """
    image = built(text, base, tmp_path)
    copied = image.tree / "z/b/c"
    assert (copied.read_text(), copied.stat().st_uid, copied.stat().st_gid) == ("built\n", 7, 8)
    assert not (image.tree / "a").exists()


def test_copy_takes_files_and_what_is_in_folders(base: Image, tmp_path: Path) -> None:
    for name in ("one", "two", "folder/inner/three"):
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / name).write_text(name)
    text = "FROM x AS only\nCOPY one two /into/\nCOPY one /renamed\nCOPY folder /other\nCOPY --chmod=0750 two /mode"
    tree = built(text, base, tmp_path).tree
    assert {name: (tree / name).read_text() for name in ("into/one", "into/two", "renamed", "other/inner/three")} == {
        "into/one": "one",
        "into/two": "two",
        "renamed": "one",
        "other/inner/three": "folder/inner/three",
    }
    assert (tree / "mode").stat().st_mode & 0o777 == 0o750


def test_how_it_starts_is_kept(base: Image, tmp_path: Path) -> None:
    text = """
        FROM x AS only
        VOLUME ["/data"]
        EXPOSE 80
        HEALTHCHECK --interval=15s CMD ["ask", "it"]
        ENTRYPOINT ["serve"]
        CMD ["--loud"]
    """
    image = Image.load(built(text, base, tmp_path).tree)
    assert (image.entrypoint, image.command, image.health) == (["serve"], ["--loud"], ["CMD", "ask", "it"])
    assert image.volumes == ["/data"]
    with pytest.raises(UsageError, match="no image was built"):
        Image.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("RUN exit 3", "RUN exit 3 ended with exit code 3"),
        ("RUN --mount=type=cache true", "more than a command"),
        ("ADD a /a", "ADD, which this build does not know"),
        ("COPY missing /a", "COPY missing: nothing of it is there"),
        ("COPY --chown=1:1 a /a", "COPY --chown"),
        ("USER somebody\nRUN true", "USER somebody is not two numbers"),
    ],
)
def test_what_cannot_be_carried_out_is_said(line: str, message: str, base: Image, tmp_path: Path) -> None:
    with pytest.raises(SweeperError, match=message):
        built(f"FROM x AS only\n{line}", base, tmp_path)


def test_every_run_line_of_the_projects_file_is_carried_out(base: Image, tmp_path: Path) -> None:
    """With a shell that only writes down what it is given."""
    (base.tree / "bin").unlink()
    (base.tree / "bin").mkdir()
    (base.tree / "opt/sweeper").mkdir(parents=True)
    for name in ("sh", "bash"):
        shell = base.tree / "bin" / name
        shell.write_text('#!/usr/bin/dash\nfor last; do :; done; printf "%s\\n" "$last" >> /recorded\n')
        shell.chmod(0o755)
    text = (ROOT / "docker" / "Dockerfile").read_text()
    around = Surroundings(Context(ROOT), mounts=[PROGRAMS], said=lambda _: None)
    image = build(needed(stages(text, {}), "run"), base, tmp_path / "trees", around)
    recorded = [(tmp_path / "trees" / stage / "recorded").read_text() for stage in ("build", "run")]
    assert "".join(recorded).splitlines() == [one.rest for one in instructions(text) if one.word == "RUN"]
    assert image.user == "10001:10001"
    assert image.environment["PATH"].startswith("/opt/sweeper/bin:")
    assert os.access(image.tree / "usr/local/bin/serve.sh", os.X_OK)
