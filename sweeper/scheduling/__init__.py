"""Running a sweep: the scheduler decides which trial starts and when, and records what the trials report."""
