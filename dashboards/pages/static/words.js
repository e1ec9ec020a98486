// Numbers and durations as words.

/** Seconds as in "12 s", "4 min", "3 h 20 min". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The time left with its interval, or nothing where nothing is known. */
export function timeLeft({ seconds_left: left, seconds_left_low: low, seconds_left_high: high }) {
  if (left === null || left === undefined) return "";
  const [from, to] = [duration(low ?? left), duration(high ?? left)];
  return from === to ? `about ${from} left` : `about ${duration(left)} left (${from} to ${to})`;
}
