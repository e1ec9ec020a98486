"""Awkward logs as other programs write them: the right curve, or one clear refusal."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from sweeper.errors import LogFormatError
from sweeper.interchange import Keys, LogOptions, LossLog, read_logs

Curve = list[tuple[int, float | None, float]]  # step, seconds, loss


def case(name: str) -> Path:
    folder = os.environ.get("SWEEPER_DATA")
    if not folder:
        pytest.skip("SWEEPER_DATA is not set: the awkward logs are not here")
    return Path(folder) / "cases" / name


def curve(log: LossLog) -> Curve:
    return [(p.step, None if math.isnan(p.seconds) else p.seconds, p.loss) for p in log.points]


CASES: dict[str, Curve] = {
    "appended-after-resume.csv": [
        *((0, 10.0, 2.30), (1, 20.0, 1.90), (2, 30.0, 1.60), (3, 40.0, 1.40), (4, 50.0, 1.25)),
        *((5, 60.0, 1.10), (6, 70.0, 1.00)),
    ],
    "clock-per-epoch.csv": [(0, 18.0, 0.42), (1, 35.0, 0.33)],
    "cut-off.csv": [(1, 1.0, 2.0), (2, 2.0, 1.5)],
    "decimal-comma-keys.txt": [(1, 1.5, 2.302), (2, 3.0, 1.911), (3, 4.5, 1.487)],
    "decimal-comma-semicolons.csv": [(10, 1.5, 2.302), (20, 3.0, 1.911), (30, 4.5, 1.487)],
    "iso-times.csv": [(1, 1684920848.0, 2.3), (2, 1684920853.0, 1.9), (3, 1684920858.0, 1.5)],
    "milliseconds.csv": [(1, 1.7e9, 2.0), (2, 1.7e9 + 10, 1.5), (3, 1.7e9 + 20, 1.2)],
    "seconds-per-epoch.csv": [(1, 30.1, 2.0), (2, 60.4, 1.5), (3, 90.6, 1.2), (4, 121.2, 1.0)],
    "seconds-per-iteration.jsonl": [
        (50, 36.95, 1.7645),
        (100, 75.45, 1.7536),
        (150, 112.5, 1.5252),
        (200, 149.4, 1.1252),
    ],
    "trainer_state.json": [(100, None, 1.92), (200, None, 1.41), (300, None, 1.10)],
    "units.log": [(5, 49.4, 0.5731), (10, 90.8, 0.5035), (20, 280.8, 0.4754)],
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_gives_its_curve(name: str) -> None:
    (log,) = read_logs(case(name))
    assert curve(log) == CASES[name]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("appended-after-resume.csv", "resumed at line 6"),
        ("clock-per-epoch.csv", "summed"),
        ("cut-off.csv", "cut off"),
        ("decimal-comma-keys.txt", "decimal commas"),
        ("milliseconds.csv", "milliseconds"),
        ("seconds-per-iteration.jsonl", "times the steps between rows"),
        ("trainer_state.json", "has no seconds"),
    ],
)
def test_what_was_taken_otherwise_than_written_is_said(name: str, word: str) -> None:
    (log,) = read_logs(case(name))
    assert any(word in note for note in log.notes)


def test_a_cut_line_is_a_lost_one() -> None:
    (log,) = read_logs(case("cut-off.csv"))
    assert [item.line.number for item in log.lost] == [4]


def test_a_chart_is_a_trial_for_each_run() -> None:
    logs = read_logs(case("chart-of-several-runs.csv"))
    assert [log.run for log in logs] == ["wise-sun-3", "calm-lake-1"]
    assert [curve(log) for log in logs] == [[(1, 1.0, 2.3), (2, 2.0, 1.7)], [(1, 1.4, 2.2), (2, 2.6, 1.2)]]
    assert not any(log.lost for log in logs)


def test_a_file_with_two_runs_is_refused_split_or_joined() -> None:
    path = case("written-twice.csv")
    with pytest.raises(LogFormatError, match="line 5 begins again at step 0") as error:
        read_logs(path)
    assert "--sessions split" in error.value.remedy
    first, second = read_logs(path, options=LogOptions(sessions="split"))
    assert curve(first) == [(0, None, 2.32), (1, None, 2.17)]
    assert curve(second) == [(0, None, 2.02), (1, None, 1.9)]
    (joined,) = read_logs(path, options=LogOptions(sessions="join"))
    assert curve(joined) == curve(second)
    assert [item.line.number for item in joined.left_out] == [2, 3]


def test_a_script_is_refused() -> None:
    with pytest.raises(LogFormatError):
        read_logs(case("report-lines.py"))


def read(path: Path, text: str, **options: Any) -> LossLog:
    path.write_text(text, encoding="utf-8")
    (log,) = read_logs(path, options=LogOptions(**options))
    return log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "run.log"


def refusal(path: Path, text: str, **options: Any) -> LogFormatError:
    with pytest.raises(LogFormatError) as caught:
        read(path, text, **options)
    return caught.value


@pytest.mark.parametrize(
    ("text", "losses"),
    [
        ("time = 1,5; loss = 2.302,5\n", [2302.5]),
        ("time = 1.5, loss = 2,302.5\n", [2302.5]),
        ("time = 1.5; loss = 2,302\n", [2302.0]),
        ("time = 1,5; loss = 1.234.567\n", [1234567.0]),
        ("time;loss\n1,5;2 302,25\n3,0;1'000,5\n", [2302.25, 1000.5]),
        ('time,loss\n"1,5","2,302"\n', [2.302]),
        ("time\tloss\n0,500\t0,302\n", [0.302]),
        ("1,5\t2,302\n", [2.302]),
    ],
)
def test_decimal_commas_and_thousands_are_read_where_the_file_shows_them(
    log: Path, text: str, losses: list[float]
) -> None:
    assert [point.loss for point in read(log, text).points] == losses


def test_a_number_that_may_mean_two_things_is_refused_until_it_is_said(log: Path) -> None:
    text = "time = 1,500; loss = 2,302\n"
    assert "--decimal" in refusal(log, text).remedy
    assert curve(read(log, text, decimal=",")) == [(1, 1.5, 2.302)]
    assert curve(read(log, text, decimal=".")) == [(1, 1500.0, 2302.0)]


def test_points_and_commas_contradict_each_other(log: Path) -> None:
    error = refusal(log, "time = 1,5; loss = 2.3\n")
    assert "decimal points (2.3) and decimal commas (1,5)" in error.message


@pytest.mark.parametrize("value", ["2.302x", "2.3#02", "2,30x", "0,#5", "2.302/5", "1.2.3", "2 302"])
def test_a_value_is_never_cut(log: Path, value: str) -> None:
    found = read(log, f"step = 1, loss = 2.25\nstep = 2, loss = {value}\nstep = 3, loss = 1.75\n")
    assert [point.loss for point in found.points] == [2.25, 1.75]
    assert [item.line.number for item in found.lost] == [2]


TIMES: list[tuple[str, list[float]]] = [
    ("1700000000000000,1.0\n1700000000500000,0.5\n", [0, 0.5]),
    ("1700000000000000000,1.0\n1700000000500000000,0.5\n", [0, 0.5]),
    ("2024-02-28T23:59:59Z,1.0\n2024-02-29T01:00:01+01:00,0.5\n", [0, 2]),
    ("2024/02/28 23:59:59.250,1.0\n2024/02/29 00:00:00.750,0.5\n", [0, 1.5]),
    ("00:01:30,1.0\n00:03:00,0.5\n", [0, 90]),
    ('"1 day, 0:00:30","1.0"\n"1 day, 0:01:00","0.5"\n', [0, 30]),
    ("49.4s,1.0\n1m30s,0.5\n1h 2m 3s,0.25\n", [0, 40.6, 3673.6]),
    ("500ms,1.0\n1500ms,0.5\n", [0, 1]),
    ("23:59:50,1.0\n23:59:55,0.9\n00:00:00,0.8\n00:00:05,0.7\n", [0, 5, 10, 15]),
]


@pytest.mark.parametrize(("rows", "seconds"), TIMES)
def test_times_of_every_kind(log: Path, rows: str, seconds: list[float]) -> None:
    found = read(log, f"elapsed,loss\n{rows}")
    assert [float(at - found.seconds[0]) for at in found.seconds] == seconds


@pytest.mark.parametrize("name", ["time_ms", "time (ms)", "Elapsed [ms]", "elapsed_milliseconds"])
def test_a_name_may_state_the_unit(log: Path, name: str) -> None:
    assert [point.seconds for point in read(log, f"{name},loss\n500,2.0\n1500,1.0\n").points] == [0.5, 1.5]


def test_the_unit_may_be_given(log: Path) -> None:
    text = "step,time,loss\n1,500,2.0\n2,1500,1.0\n"
    assert [point.seconds for point in read(log, text, time_unit="ms").points] == [0.5, 1.5]
    assert [point.seconds for point in read(log, text, time_unit="min").points] == [30000.0, 90000.0]


def test_numbers_that_are_no_time_of_any_unit_are_refused(log: Path) -> None:
    assert "--time-unit" in refusal(log, "step,time,loss\n1,50000000000,2\n2,60000000000,1\n").remedy


def test_what_times_count_may_be_given(log: Path) -> None:
    text = "step,time,loss\n10,5,2.0\n20,7,1.0\n30,6,0.5\n"
    assert "--time-is" in refusal(log, text).remedy
    assert [p.seconds for p in read(log, text, time_is="per-row").points] == [5, 12, 18]
    assert [p.seconds for p in read(log, text, time_is="per-step").points] == [50, 120, 180]
    assert read(log, text, without_seconds=True).seconds == ()


@pytest.mark.parametrize("name", ["epoch_time", "seconds_per_epoch", "time/epoch", "Time per epoch (s)"])
def test_a_name_may_say_that_times_are_of_each_epoch(log: Path, name: str) -> None:
    found = read(log, f"epoch,{name},loss\n1,30,2.0\n2,31,1.0\n3,32,0.5\n")
    assert [point.seconds for point in found.points] == [30, 61, 93]


def test_later_steps_replace_earlier_ones_and_time_goes_on(log: Path) -> None:
    header = "step,seconds,loss\n"
    found = read(log, f"{header}1,10,5\n2,20,4\n3,30,3.5\n{header}2,10,4.25\n3,20,3\n4,30,2\n")
    assert curve(found) == [(1, 10, 5), (2, 20, 4.25), (3, 30, 3), (4, 40, 2)]
    assert [item.line.number for item in found.left_out] == [3, 4]


def test_the_time_between_sessions_is_not_training(log: Path) -> None:
    text = "timestamp,step,loss\n" + "".join(f"{1.7e9 + t},{step},1.5\n" for step, t in enumerate((0, 10, 20, 30)))
    text += "timestamp,step,loss\n" + "".join(f"{1.7e9 + t},{step},1.25\n" for step, t in ((4, 9000), (5, 9010)))
    found = read(log, text)
    assert [float(at - found.seconds[0]) for at in found.seconds] == [0, 10, 20, 30, 40, 50]


def test_a_clock_that_steps_back_goes_on(log: Path) -> None:
    found = read(log, "elapsed,step,loss\n10,1,3.5\n20,2,3\n30,3,2.5\n29,4,2\n39,5,1.5\n49,6,1\n59,7,0.5\n")
    assert [point.seconds for point in found.points] == [10, 20, 30, 40, 50, 60, 70]
    assert any("steps back at line 5" in note for note in found.notes)


def test_a_file_written_newest_first_is_turned_round(log: Path) -> None:
    found = read(log, "step,seconds,loss\n3,30,1.5\n2,20,2.5\n1,10,3.5\n")
    assert curve(found) == [(1, 10, 3.5), (2, 20, 2.5), (3, 30, 1.5)]


def test_rows_that_stand_twice_count_once(log: Path) -> None:
    rows = "1,10,3.5\n2,20,2.5\n3,30,1.5\n"
    found = read(log, f"step,seconds,loss\n{rows}step,seconds,loss\n{rows}")
    assert curve(found) == [(1, 10, 3.5), (2, 20, 2.5), (3, 30, 1.5)]
    assert len(found.left_out) == 3


def test_steps_that_begin_anew_in_each_epoch_are_counted_on(log: Path) -> None:
    lines = (f"Epoch [{e}/2], Step [{s}/300], Loss: {3.5 - e - s / 1000}\n" for e in (1, 2) for s in (100, 200, 300))
    assert [point.step for point in read(log, "".join(lines)).points] == [100, 200, 300, 400, 500, 600]


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("epoch,accuracy,loss,val_accuracy,val_loss", "1,0.5,2.5,0.4,9"),  # Keras
        ("epoch,step,train_loss,val_loss", "0,1,2.5,"),  # Lightning
        ("epoch,val/loss,train/loss,step", "0,9,2.5,1"),
        ("step,train_loss__MAX,train_loss,train_loss__MIN", "1,9,2.5,1"),
    ],
)
def test_logs_without_seconds_give_their_training_losses(log: Path, header: str, row: str) -> None:
    assert curve(read(log, f"{header}\n{row}\n")) == [(1, None, 2.5)]


def test_printed_dictionaries_are_read_behind_a_progress_bar(log: Path) -> None:
    text = " 10%|#         | 1/10 [00:01<00:09]{'loss': 2.5, 'step': 1, 'grad': nan}\n"
    text += "{'eval_loss': 9.0, 'step': 1}\n\r 20%|##   | 2/10{'loss': tensor(1.5), 'step': 2}\n"
    assert curve(read(log, text)) == [(1, None, 2.5), (2, None, 1.5)]


@pytest.mark.parametrize(
    "text",
    ["step: 1 loss: 2.5\nstep: 2 loss: 1.5\n", "INFO:root:step: 1, loss: 2.5\nINFO:root:step: 2, loss: 1.5\n",
     "[train] step=1 loss=2.5\n[val] step=1 loss=9\n[train] step=2 loss=1.5\n",
     "\x1b[32mstep\x1b[0m = 1 | loss = 2.5\nstep = 2 | loss = 1.5\n"],
)  # fmt: skip
def test_pairs_of_keys_and_values(log: Path, text: str) -> None:
    assert curve(read(log, text)) == [(1, None, 2.5), (2, None, 1.5)]


def test_rows_of_validation_are_not_of_training(log: Path) -> None:
    rows = ('{"mode": "train", "iter": 1, "loss": 2.5}', '{"mode": "val", "iter": 1, "loss": 9}')
    assert curve(read(log, "\n".join([*rows, ""]))) == [(1, None, 2.5)]


def test_a_date_before_each_line_is_its_time(log: Path) -> None:
    found = read(
        log, "2024-05-01 10:00:00,250 INFO step 1: loss = 2.5\n2024-05-01 10:00:05,750 INFO step 2: loss = 1.5\n"
    )
    assert [float(at - found.seconds[0]) for at in found.seconds] == [0, 5.5]


@pytest.mark.parametrize(
    "text",
    [
        '[{"step": 1, "loss": 2.5},\n {"step": 2, "loss": 1.5}]',
        '{"history": {"loss": [2.5, 1.5],\n "step": [1, 2]}}',
        "{'loss': [2.5, 1.5],\n 'step': [1, 2]}",
    ],
)
def test_documents_of_json(log: Path, text: str) -> None:
    assert curve(read(log, text)) == [(1, None, 2.5), (2, None, 1.5)]


def test_a_document_that_breaks_off_is_refused(log: Path) -> None:
    assert "cannot be read" in refusal(log, '{\n  "log_history": [\n    {"step": 1,\n     "loss": 2.5\n').message


def test_a_table_of_several_runs_is_told_apart_by_its_column(log: Path) -> None:
    log.write_text("run,lr,step,loss\na,0.1,1,2.5\nb,0.2,1,2.0\na,0.1,2,1.5\nb,0.2,2,1.0\n")
    first, second = read_logs(log)
    assert (first.run, curve(first)) == ("a", [(1, None, 2.5), (2, None, 1.5)])
    assert (second.run, second.recorded) == ("b", {"lr": "0.2"})


def _zstd(data: bytes) -> bytes:
    packed: bytes = pyarrow.Codec("zstd").compress(data, asbytes=True)
    return packed


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, _zstd])
def test_compressed_files_are_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "run.log.packed"
    path.write_bytes(pack(b"step,seconds,loss\n1,10,2.5\n2,20,1.5\n"))
    (found,) = read_logs(path)
    assert curve(found) == [(1, 10, 2.5), (2, 20, 1.5)]
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(LogFormatError, match="damaged or break off"):
        read_logs(path)


def test_utf_16_is_text(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_bytes("step,loss\r\n1,2.5\r\n".encode("utf-16"))
    assert [point.loss for point in read_logs(path)[0].points] == [2.5]


@pytest.mark.parametrize("data", [b"PK\x03\x04rest", b"loss\0\0 1 2\n", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(data)
    with pytest.raises(LogFormatError):
        read_logs(path)


def test_advice_points_at_no_column_of_validation_or_extremes(log: Path) -> None:
    error = refusal(log, "step,val/loss,my_loss__MAX,objective_loss\n1,2,3,4\n")
    assert "--loss-key 'objective_loss'" in error.remedy


def test_another_loss_is_named(log: Path) -> None:
    found = read(log, "step = 1, Loss = 2.5, Actual Loss = 2.25\n")
    assert any("'Actual Loss'" in note for note in found.notes)
    found = read(log, "step = 1, Loss = 2.5, val loss = 2.25\n", keys=Keys(loss="Loss"))
    assert not any("val loss" in note for note in found.notes)


@pytest.mark.parametrize("header", ["step,time,loss,accuracy", "time,accuracy,step,loss"])
def test_a_resumed_file_may_have_another_header(log: Path, header: str) -> None:
    values = {"step": 3, "time": 30, "loss": 1.5, "accuracy": 0.5}
    row = ",".join(str(values[name]) for name in header.split(","))
    found = read(log, f"step,time,loss\n1,10,3.5\n2,20,2.5\n{header}\n{row}\n")
    assert curve(found) == [(1, 10, 3.5), (2, 20, 2.5), (3, 30, 1.5)]


def test_runs_that_write_by_turns_are_refused_or_split(log: Path) -> None:
    text = "".join(f"[rank{rank}] step={step} loss={3.5 - step + rank / 10}\n" for step in (1, 2, 3) for rank in (0, 1))
    assert "each step stands 2 times" in refusal(log, text).message
    first, second = read_logs(log, options=LogOptions(sessions="split"))
    assert [point.loss for point in first.points] == [2.5, 1.5, 0.5]
    assert [point.loss for point in second.points] == [2.6, 1.6, 0.6]


def test_the_minus_of_mathematics_is_one(log: Path) -> None:
    assert curve(read(log, "step,loss\n1,\u22122.5\n2,\u22123,5\n".replace(",5", ".5"))) == [
        (1, None, -2.5),
        (2, None, -3.5),
    ]


def test_a_comment_may_name_the_columns(log: Path) -> None:
    assert curve(read(log, "# step loss\n1 2.5\n2 1.5\n")) == [(1, None, 2.5), (2, None, 1.5)]
    assert curve(read(log, "# loss, seconds\n2.5, 10\n1.5, 20\n")) == [(1, 10, 2.5), (2, 20, 1.5)]


def test_two_columns_without_names_are_told_to_be_a_guess(log: Path) -> None:
    assert "its two columns are taken to be seconds and loss" in read(log, "1 2.5\n2 1.5\n").notes


@pytest.mark.parametrize("column", ["type", "event", "what"])
def test_rows_of_evaluation_are_told_by_any_column(log: Path, column: str) -> None:
    rows = "".join(f"{e},train,{4.5 - e},{10 * e}\n{e},val,9,{10 * e + 1}\n" for e in (1, 2, 3))
    found = read(log, f"epoch,{column},loss,time\n{rows}")
    assert curve(found) == [(1, 10, 3.5), (2, 20, 2.5), (3, 30, 1.5)]


def test_flags_tell_rows_of_evaluation(log: Path) -> None:
    rows = "".join(f"{s},0,{4.5 - s}\n{s},1,9\n" for s in (1, 2, 3))
    assert [point.loss for point in read(log, f"step,is_validation,loss\n{rows}").points] == [3.5, 2.5, 1.5]


def test_a_document_of_several_lists_is_read_by_its_losses(log: Path) -> None:
    train, val = [{"step": n, "loss": 4.5 - n} for n in (1, 2)], [{"step": n, "loss": 9.0} for n in (1, 2, 3)]
    gpu = [{"temperature": n} for n in range(9)]
    log.write_text(json.dumps({"train": train, "val": val, "gpu": gpu}, indent=1))
    (found,) = read_logs(log)
    assert curve(found) == [(1, None, 3.5), (2, None, 2.5)]
    log.write_text(json.dumps({"a": train, "b": val}))
    assert [(one.run, len(one.points)) for one in read_logs(log)] == [("a", 2), ("b", 3)]


def test_a_slow_first_epoch_does_not_make_a_clock(log: Path) -> None:
    rows = "".join(f"{n},{30 if n == 1 else 12},{9.5 - n}\n" for n in range(1, 6))
    assert [point.seconds for point in read(log, f"epoch,time,loss\n{rows}").points] == [30, 42, 54, 66, 78]


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 1 loss: 2.5 time: 10\nEpoch 2 loss: 1.5 time: 20\n",
        "Epoch: [0][ 10/20] Time 10.5 Loss 2.5 (2.6)\nEpoch: [1][ 10/20] Time 20.5 Loss 1.5\n",
    ],
)
def test_counts_before_a_key(log: Path, text: str) -> None:
    found = read(log, text)
    assert [point.loss for point in found.points] == [2.5, 1.5]
    assert [point.step for point in found.points] in ([1, 2], [10, 30])


@pytest.mark.parametrize(
    "text", ["x" * 200 + " " * 100_000 + "loss", "{" + "a." * 50_000 + "}", "loss=" + "1," * 50_000]
)
def test_long_lines_do_not_hang(log: Path, text: str) -> None:
    with pytest.raises(LogFormatError):
        read(log, f"{text}\n")


def test_trailing_points_are_numbers(log: Path) -> None:
    rows = "".join(f"{n},{n}.,{2000 - n}.\n" for n in range(1, 1000))
    assert len(read(log, f"step,time,loss\n{rows}").points) == 999
