"""Files are replaced whole where links lead; streams, devices and pipes are written straight."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from sweeper.output_file import OutputPlace, write_output
from sweeper.streams import ReaderGoneError


def write(name: str | Path, text: str = "new", companion: str = "") -> OutputPlace:
    def both(path: Path) -> None:
        path.write_text(text)
        if companion:
            Path(f"{path}{companion}").write_text(f"{text} beside")

    place = OutputPlace.of(name)
    write_output(place, both, companion)
    return place


def test_a_link_stays_and_its_end_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("old")
    (tmp_path / "second").symlink_to("there/file")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    (tmp_path / "folder").symlink_to("there")
    for name in ("first", "folder/file"):
        write(tmp_path / name, name, ".meta")
        assert (tmp_path / "there" / "file").read_text() == name
        assert (tmp_path / "there" / "file.meta").read_text() == f"{name} beside"
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["first", "folder", "second", "there"]
    assert sorted(os.listdir(tmp_path / "there")) == ["file", "file.meta"]


def test_a_link_to_nothing_yet_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new/folder/file")
    write(tmp_path / "link")
    assert (tmp_path / "new" / "folder" / "file").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match="too many levels of symbolic links"):
        write(tmp_path / "one")


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_nothing_changes_where_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def half(partial: Path) -> None:
        partial.write_text("half")
        raise KeyError("nothing")

    with pytest.raises(KeyError, match="nothing"):
        write_output(OutputPlace.of(path), half)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_pipe_is_written_and_stays(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe.csv", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    got: list[str] = []
    for name in (pipe, link):
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
        reader.start()
        assert write(name, "x" * 100_000, ".meta").is_stream
        reader.join()
    assert got == ["x" * 100_000] * 2
    assert pipe.is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe.csv"]


def test_a_device_is_written_and_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("/dev/null", tmp_path / "link"):
        place = write(name)
        assert (place.is_stream, place.is_standard_output) == (True, False)
        assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError, match="No space left on device"):
        write("/dev/full")


@pytest.mark.parametrize("form", ["/dev/fd/{}", "/proc/self/fd/{}", "/proc/PID/fd/{}", "link"])
def test_an_open_descriptor_is_written_where_it_stands(tmp_path: Path, form: str) -> None:
    """Also one of a file: what is in it already stays."""
    with (tmp_path / "log").open("w") as log:
        log.write("before ")
        log.flush()
        name = form.replace("PID", str(os.getpid())).format(log.fileno())
        if form == "link":
            (tmp_path / "link").symlink_to(f"/dev/fd/{log.fileno()}")
            name = str(tmp_path / "link")
        assert write(name).descriptor == log.fileno()
        log.write(" after")
    assert (tmp_path / "log").read_text() == "before new after"


def test_who_has_closed_a_pipe_is_no_longer_written_to() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(ReaderGoneError):
        write(f"/dev/fd/{writer}", "x" * 1_000_000)
    os.close(writer)


def test_what_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="No such device"):
            write(tmp_path / "socket")
    with pytest.raises(OSError, match="Bad file descriptor"):
        write("/dev/fd/987")


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_told_apart(name: str) -> None:
    place = OutputPlace.of(name)
    assert (place.is_stream, place.is_standard_output) == (True, True)


def test_a_dash_is_standard_output_and_other_dashes_are_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    write("-")
    write("./-", "file")
    assert capsysbinary.readouterr().out == b"new"
    assert (tmp_path / "-").read_text() == "file"
