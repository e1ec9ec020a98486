"""What it costs: `python -m benchmarks.AREA [--quick] --json FILE`; each figure beside its baseline of the same run."""
