const [minute, hour, day] = [60, 3600, 86_400];

/** Formats a time relative to now: `3 min ago`, `in 2 h`. More than a month away, the date. */
export function relativeTime(time: number, now: number): string {
  const seconds = Math.round(Math.abs(now - time) / 1000);
  if (seconds < 5) return 'now';
  if (seconds >= 30 * day) return new Date(time).toISOString().slice(0, 10);
  const [amount, unit] =
    seconds < minute
      ? [seconds, 's']
      : seconds < hour
        ? [Math.floor(seconds / minute), 'min']
        : seconds < day
          ? [Math.floor(seconds / hour), 'h']
          : [Math.floor(seconds / day), 'd'];
  return time > now ? `in ${amount} ${unit}` : `${amount} ${unit} ago`;
}
