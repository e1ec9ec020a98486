// Numbers, durations and errors as words.

/** An error of the server's with its remedy. */
export function errorWords({ message, remedy }) {
  return [message, remedy].filter(Boolean).join("; ");
}

/** Seconds of an estimate, as the command line has them: "12 s", "4 min 05 s", "3 h 20 min". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const hours = Math.floor(whole / 3600);
  if (hours < 72) return `${hours} h ${two(Math.floor((whole % 3600) / 60))} min`;
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** The time left with its interval, or nothing where nothing is known. */
export function timeLeft({ seconds_left: left, seconds_left_low: low, seconds_left_high: high }) {
  if (left === null || left === undefined) return "";
  const [from, to] = [duration(low ?? left), duration(high ?? left)];
  return from === to ? `about ${from} left` : `about ${duration(left)} left (${from} to ${to})`;
}
