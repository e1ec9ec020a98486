"""What TensorBoard's page for hyperparameters needs: an experiment, and the begin and end of each session."""

from __future__ import annotations

from typing import Any

from sweeper.interchange.formats.csv_table import cell
from sweeper.plan.trial import TrialState
from sweeper.store.archived import Archive, ArchivedTrial

_METRICS = ("loss", "accuracy", "test_loss", "seconds")


def experiment(archive: Archive) -> tuple[str, Any]:
    """Tag and data for the top of the folder."""
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    found = api_pb2.Experiment(
        name=archive.sweep.name, time_created_secs=archive.sweep.created_at.timestamp(), description=archive.sweep.id
    )
    values: dict[str, list[Any]] = {}
    for trial in archive.trials:
        for name, value in trial.parameters.items():
            values.setdefault(name, []).append(value)
    for name, own in values.items():
        found.hparam_infos.add(name=name, type=_kind(own))
    for tag in _METRICS:
        found.metric_infos.add(name=api_pb2.MetricName(tag=tag), display_name=tag)
    return metadata.EXPERIMENT_TAG, plugin_data_pb2.HParamsPluginData(experiment=found)


def session_start(trial: ArchivedTrial, start: float) -> tuple[str, Any]:
    """Tag and data for a trial's run, which begins at `start`, seconds since 1970."""
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2

    found = plugin_data_pb2.SessionStartInfo(group_name=trial.record.id, start_time_secs=start)
    for name, value in trial.record.parameters.items():
        if isinstance(value, bool):
            found.hparams[name].bool_value = value
        elif isinstance(value, int | float) and abs(value) < 1e308:
            found.hparams[name].number_value = value
        else:
            found.hparams[name].string_value = str(cell(value))
    return metadata.SESSION_START_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_start_info=found)


def session_end(trial: ArchivedTrial) -> tuple[str, Any]:
    """Tag and data for a trial's run: how it has ended, if it has."""
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    state = trial.record.state
    good = (TrialState.COMPLETED, TrialState.PRUNED)
    status = api_pb2.STATUS_SUCCESS if state in good else api_pb2.STATUS_FAILURE
    ends = [attempt.record.ended_at for attempt in trial.attempts if attempt.record.ended_at]
    found = plugin_data_pb2.SessionEndInfo(
        status=status if state.ended else api_pb2.STATUS_RUNNING, end_time_secs=ends[-1].timestamp() if ends else None
    )
    return metadata.SESSION_END_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_end_info=found)


def _kind(values: list[Any]) -> Any:
    from tensorboard.plugins.hparams import api_pb2

    if all(isinstance(value, bool) for value in values):
        return api_pb2.DATA_TYPE_BOOL
    if all(isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308 for value in values):
        return api_pb2.DATA_TYPE_FLOAT64
    return api_pb2.DATA_TYPE_STRING
