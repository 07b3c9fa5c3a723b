import { visible } from '#src/contract/visible.js';
import { dialectFacts } from '#src/platform/db/dialect-facts.js';
import type { Lines } from '../terminal/lines.js';
import { pairs } from '../terminal/table.js';
import { cutToWidth } from '../terminal/text-width.js';
import type { ServerRates } from './server-metrics.js';
import type { Status } from './status.js';

const bars = '▁▂▃▄▅▆▇█';
const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const labelWidth = 12;

/** Formats a status as names and values. */
export function statusLines(status: Status): Lines {
  return pairs(rowsOf(status));
}

/** Formats the last of several statuses, with charts of the requests, the latency and the errors. */
export function watchLines(history: readonly Status[], columns: number, color: boolean): string[] {
  const status = history.at(-1);
  if (status === undefined) return [];
  const width = Math.max(10, Math.min(60, columns - labelWidth - 12));
  const chart = (name: string, member: keyof ServerRates, text: (value: number | null) => string) => {
    const values = history.map((one) => one[member]).slice(-width);
    return `${name.padEnd(labelWidth)}${sparkline(values).padEnd(width)}  ${text(status[member])}`;
  };
  const charts = [
    chart('requests/s', 'requestsPerSecond', (value) => shown(value)),
    chart('p95', 'p95Ms', (value) => shown(value, ' ms')),
    chart('errors', 'errorRate', percent),
  ];
  const rows = rowsOf(status).map(([name, value]) => `${name.padEnd(labelWidth)}${visible(value)}`);
  const hint = 'q or Ctrl+C ends';
  return [...rows, '', ...charts, '', color ? `\x1b[2m${hint}\x1b[0m` : hint].map((line) =>
    line.startsWith('\x1b') ? line : cutToWidth(line, columns),
  );
}

/** Draws values as bars relative to the largest; a missing value is a space. */
function sparkline(values: readonly (number | null)[]): string {
  const most = Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE);
  const bar = (value: number) => bars[Math.min(bars.length - 1, Math.floor((value / most) * (bars.length - 1)))] ?? '';
  return values.map((value) => (value === null ? ' ' : bar(value))).join('');
}

function rowsOf(status: Status): (readonly [string, string])[] {
  const { database, backlog, disk, memory } = status;
  return [
    [
      'server',
      status.running
        ? `runs at ${status.url}, since ${durationText(status.uptimeSeconds ?? 0)}`
        : `does not answer at ${status.url}`,
    ],
    ['version', `${status.version}, schema ${status.schema ?? 'unknown'}`],
    ['database', `${dialectFacts[database.kind].name}, ${bytesText(database.bytes)}`],
    [
      'requests',
      `${shown(status.requestsPerSecond)} per second, 95 % within ${shown(status.p95Ms, ' ms')}, ${percent(status.errorRate)} errors`,
    ],
    ['sessions', shown(status.sessions)],
    ['sockets', shown(status.sockets)],
    ['waiting', `${shown(backlog.deliveries)} deliveries, ${shown(backlog.mails)} mails`],
    ['disk', `${bytesText(disk.freeBytes)} of ${bytesText(disk.totalBytes)} free`],
    ['memory', `${bytesText(memory.rssBytes)} of ${bytesText(memory.limitBytes)}`],
    ['last backup', status.lastBackup ?? (status.schema === null ? '-' : 'none')],
    ['findings', status.findings === null ? '-' : status.findings === 0 ? '0' : `${status.findings}: svc doctor`],
  ];
}

const shown = (value: number | null, unit = '') => (value === null ? '-' : `${value}${unit}`);
const percent = (value: number | null) => (value === null ? '-' : `${Math.round(value * 10_000) / 100} %`);

/** Formats a number of bytes, such as `1.5 GiB`. */
export function bytesText(value: number | null): string {
  if (value === null) return '-';
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return `${Math.round((value / 1024 ** power) * 10) / 10} ${units[power]}`;
}

/** Formats a duration by its two largest units. */
export function durationText(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
  ] as const;
  const words = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount} ${unit}`);
  return words.length === 0 ? `${seconds} s` : words.slice(0, 2).join(' ');
}
