"""From files to curves: what is used, what is reported, what is refused."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from sweeper.errors import LogFormatError
from sweeper.interchange import Keys, LogOptions, LossLog, TimeOrigin, read_logs
from sweeper.interchange.logs.time_origin import DecidedOrigin
from sweeper.ranking.curve import LossPoint, summarize


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "run.log"


def read(path: Path, text: str, format_name: str | None = None, keys: Keys | None = None) -> LossLog:
    path.write_bytes(text.encode())
    (found,) = read_logs(path, format_name, LogOptions(keys or Keys()))
    return found


def refusal(path: Path, text: str, format_name: str | None = None, keys: Keys | None = None) -> LogFormatError:
    with pytest.raises(LogFormatError) as caught:
        read(path, text, format_name, keys)
    assert str(path) in caught.value.message
    assert caught.value.remedy
    return caught.value


def test_steps_are_numbered_and_images_unknown_where_the_file_does_not_say(log: Path) -> None:
    assert read(log, "0.5 2.5\n1 2\n").points == (LossPoint(1, None, 0.5, 2.5), LossPoint(2, None, 1.0, 2.0))


def test_steps_and_images_are_the_files(log: Path) -> None:
    found = read(log, "step,images,seconds,loss\n10,1280,0.5,2.5\n20.0,2560,1,2\n")
    assert found.points == (LossPoint(10, 1280, 0.5, 2.5), LossPoint(20, 2560, 1.0, 2.0))
    assert found.notes == ()


@pytest.mark.parametrize("second", ["10.5", "1e300"])
def test_steps_that_do_not_rise_are_numbered_anew_and_said(log: Path, second: str) -> None:
    found = read(log, f"step,seconds,loss\n10,0.5,2.5\n{second},1,2\n")
    assert [point.step for point in found.points] == [1, 2]
    assert "numbered from 1" in found.notes[0]


@pytest.mark.parametrize("second", ["x", "", "nan"])
def test_a_line_without_a_step_is_lost_where_others_have_one(log: Path, second: str) -> None:
    found = read(log, f"step,seconds,loss\n10,0.5,2.5\n{second},1,2\n30,1.5,1\n")
    assert [point.step for point in found.points] == [10, 30]
    assert [item.line.number for item in found.lost] == [3]


def test_images_that_fall_are_left_out_and_said(log: Path) -> None:
    found = read(log, "images,seconds,loss\n10,0.5,2.5\n9,1,2\n")
    assert [point.images for point in found.points] == [None, None]
    assert "images" in found.notes[0]


def test_times_that_fall_without_a_step_may_be_another_run(log: Path) -> None:
    error = refusal(log, "1 2.5\n2 2\n1.5 9\n2 1.5\n3 1\n")
    assert "line 3 may begin another run" in error.message
    assert "--sessions split" in error.remedy


def test_seconds_are_as_written(log: Path) -> None:
    found = read(log, "1700000000.5 2.5\n1700000002 2\n")
    assert [point.seconds for point in found.points] == [1700000000.5, 1700000002.0]


def test_byte_order_mark_and_line_ends_of_windows_are_taken(log: Path) -> None:
    found = read(log, "\ufeffseconds,loss\r\n0.5,2.5\r\n1,2\r\n")
    assert [(point.seconds, point.loss) for point in found.points] == [(0.5, 2.5), (1.0, 2.0)]
    assert found.blank_lines == 0


def test_blank_lines_and_comments_are_counted_apart(log: Path) -> None:
    found = read(log, "# made by hand\n\n0.5 2.5\n  # and again\n \n1 2\nthe end\n")
    assert (found.blank_lines, found.comment_lines) == (2, 2)
    assert [(item.line.number, item.line.text) for item in found.ignored] == [(7, "the end")]


def test_a_loss_that_is_no_number_is_a_point(log: Path) -> None:
    found = read(log, "0.5 2.5\n1 nan\n2 -inf\n")
    assert math.isnan(found.points[1].loss)
    assert not summarize(found.points).finite


def test_a_given_format_is_not_recognised_anew(log: Path) -> None:
    found = read(log, "seconds,loss\n0.5,2.5\n", format_name="columns")
    assert found.format == "columns"
    assert len(found.ignored) == 1


def test_unknown_columns_are_listed_with_the_nearest(log: Path) -> None:
    error = refusal(log, "step,seconds,loss_value\n1,2,3\n")
    assert "step, seconds, loss_value" in error.message
    assert "--loss-key 'loss_value'" in error.remedy
    assert "--seconds-key" not in error.remedy


def test_a_misspelt_key_is_answered_with_the_nearest(log: Path) -> None:
    error = refusal(log, "time = 1, Loss = 3, Actual Loss = 2\n", keys=Keys(loss="Actul Loss"))
    assert "'Actul Loss'" in error.message
    assert "--loss-key 'Actual Loss'" in error.remedy


def test_the_loss_must_be_there(log: Path) -> None:
    error = refusal(log, '{"a": 1, "b": 2}\n')
    assert "a, b" in error.message
    assert "--loss-key NAME" in error.remedy


def test_a_chosen_name_that_is_not_there_is_refused(log: Path) -> None:
    for key in ("seconds", "step", "images"):
        error = refusal(log, '{"loss": 1, "took": 2}\n', keys=Keys(**{key: "tok"}))
        assert "'tok'" in error.message
        assert f"--{key}-key 'took'" in error.remedy


def test_two_columns_have_no_keys(log: Path) -> None:
    assert "leave out" in refusal(log, "1 2\n2 3\n", keys=Keys(loss="loss")).remedy


def test_known_columns_without_a_number_show_the_first_reason(log: Path) -> None:
    assert "line 2: loss 'x' is not a number" in refusal(log, "seconds,loss\n1,x\n").message
    assert "nothing is below the header" in refusal(log, "seconds,loss\n", format_name="csv").message


@pytest.mark.parametrize("format_name", ["columns", "csv", "jsonl", "key-value"])
def test_words_in_a_given_format_are_answered_with_its_layout(log: Path, format_name: str) -> None:
    error = refusal(log, "hello\nworld\n", format_name)
    assert "line 1" in error.message
    assert "such as `" in error.remedy


def test_words_are_no_log(log: Path) -> None:
    assert "--format" in refusal(log, "hello\nworld\n").remedy


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_a_file_without_data_says_so(log: Path, text: str) -> None:
    assert "no data" in refusal(log, text).message


def test_files_that_cannot_be_read_say_why(log: Path, tmp_path: Path) -> None:
    with pytest.raises(LogFormatError, match="No such file"):
        read_logs(log)
    with pytest.raises(LogFormatError, match="directory"):
        read_logs(tmp_path)
    log.write_bytes(b"1 2\n\xff\xfe\n")
    with pytest.raises(LogFormatError, match="not UTF-8 text"):
        read_logs(log)


# README of loss-logs: points, minimum loss, area to the printed digits, lines that are no data.
PUBLISHED = [
    ("mnist-caffe.txt", None, 4681, "0.303388", "9.361228", 1),
    ("mnist-shm-learn.txt", None, 4688, "0.306183", "1.845337", 1),
    ("cifar10-k80-key-values.txt", None, 3000, "2.319930", "3.824830", 0),
    ("cifar10-k80-key-values.txt", "Actual Loss", 3000, "2.029640", "3.470216", 0),
]


@pytest.mark.parametrize(("name", "loss_key", "points", "minimum", "area", "ignored"), PUBLISHED)
def test_logs_of_other_programs_give_their_published_figures(
    name: str, loss_key: str | None, points: int, minimum: str, area: str, ignored: int
) -> None:
    folder = os.environ.get("SWEEPER_DATA")
    if not folder:
        pytest.skip("SWEEPER_DATA is not set: the logs of other programs are not here")
    (found,) = read_logs(Path(folder) / "loss-logs" / name, options=LogOptions(Keys(loss=loss_key)))
    summary = summarize(DecidedOrigin(TimeOrigin.FIRST).applied(found.points))  # as they were published
    assert summary.points == points
    assert f"{summary.minimum_loss:.6f}" == minimum
    assert f"{summary.area_seconds:.6f}" == area
    assert (len(found.ignored), len(found.left_out)) == (ignored, 0)
