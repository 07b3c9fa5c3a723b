import { styleText } from 'node:util';
import { visible } from '#src/contract/visible.js';

/** Named values of a log line; never secrets, bodies, query strings or database text. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** An entry of the log. */
export interface LogEntry {
  /** ISO 8601 in UTC. */
  readonly time: string;
  readonly level: string;
  readonly event: string;
  readonly fields: LogFields;
}

type Style = 'dim' | 'cyan' | 'green' | 'yellow' | 'red';

const levelStyles: Readonly<Record<string, Style>> = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' };
const statusStyles: readonly Style[] = ['dim', 'dim', 'green', 'cyan', 'yellow', 'red'];
const widths = { level: 5, method: 6 } as const;

/** Formats an entry as one short line: a request by status, method, path, duration and caller, any other entry by its fields. */
export function shortLine({ time, level, event, fields }: LogEntry, shown: { time?: string; color: boolean }): string {
  const paint = (style: Style, text: string) =>
    shown.color ? styleText(style, text, { validateStream: false }) : text;
  const clock = paint('dim', shown.time ?? time.slice(11, 19));
  if (event === 'request' || event === 'probe') {
    const status = String(fields.status);
    const { method, path, route, ms, project, actor, type } = fields;
    const words = [String(method).padEnd(widths.method), path ?? route, `${ms}ms`, project, actor, type];
    const rest = words.filter((word) => word !== undefined && word !== null).join(' ');
    return `${clock} ${paint(statusStyles[Number(status[0])] ?? 'dim', status)} ${visible(rest)}`;
  }
  const values = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) => `${name}=${typeof value === 'string' && /[\s"=]/.test(value) ? JSON.stringify(value) : value}`,
    );
  const name = paint(levelStyles[level] ?? 'dim', level.toUpperCase().padEnd(widths.level));
  return `${clock} ${name} ${visible([event, ...values].join(' '))}`;
}
