import { styleText } from 'node:util';
import { visible } from '#src/contract/visible.js';

/** Severity, lowest first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof logLevels)[number];

/** Named values of a log line; never secrets, bodies, query strings or database text. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Writes one line per event: JSON, or words where a person reads along. */
export interface Log {
  /** Whether lines of this level are written, for callers on a hot path. */
  isOn(level: Level): boolean;
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Writes what is still buffered. */
  flush(): void;
}

/** What the log needs: its threshold, its form, the time, and where lines go. */
interface LogOptions {
  readonly level: Level;
  readonly format: 'json' | 'pretty';
  /** Whether levels of the pretty form are coloured: it goes to a terminal that shows colours. */
  readonly color?: boolean;
  readonly now: () => number;
  readonly write: (lines: string) => void;
  /** Whether so much waits for the reader of the log that nothing more is written. */
  readonly isBehind?: () => boolean;
}

/** The most that waits for a reader of stderr which has stopped, so that the memory of the process does not fill with its log. */
export const mostWaitingBytes = 1_048_576;

/** Anything shaped like a secret of ours or a JWT, wherever it may have slipped in. */
const secretShapes = /\b(?:(?:ss|sk)_[A-Za-z0-9_.-]{8,}|whsec_[A-Za-z0-9+/=_-]+|eyJ[A-Za-z0-9_-]{8,}[A-Za-z0-9_.-]*)/g;
const flushAfterMs = 20;

/** Creates a log; lines are written in bundles, errors at once. */
export function createLog(options: LogOptions): Log {
  const threshold = logLevels.indexOf(options.level);
  let buffer = '';
  let timer: NodeJS.Timeout | undefined;
  let dropped = 0;
  const lineOf = (level: Level, event: string, fields: LogFields): string => {
    const time = new Date(options.now()).toISOString();
    const line =
      options.format === 'json'
        ? jsonLine(time, level, event, fields)
        : prettyLine(time, level, event, fields, options.color ?? false);
    return `${line.replace(secretShapes, '[redacted]')}\n`;
  };
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const waiting = buffer;
    buffer = '';
    if (waiting === '') return;
    if (options.isBehind?.()) {
      dropped += waiting.split('\n').length - 1;
      return;
    }
    const lines = dropped;
    dropped = 0;
    if (lines > 0) log.warn('log.dropped', { lines });
    options.write(buffer + waiting);
    buffer = '';
  };
  const at = (level: Level) => {
    if (logLevels.indexOf(level) < threshold) return () => {};
    return (event: string, fields: LogFields = {}) => {
      buffer += lineOf(level, event, fields);
      if (level === 'error' || buffer.length > 16_384) flush();
      else timer ??= setTimeout(flush, flushAfterMs).unref();
    };
  };
  const log: Log = {
    isOn: (level) => logLevels.indexOf(level) >= threshold,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    flush,
  };
  return log;
}

function jsonLine(time: string, level: Level, event: string, fields: LogFields): string {
  return JSON.stringify({ time, level, event, ...fields });
}

const colors = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' } as const;

function prettyLine(time: string, level: Level, event: string, fields: LogFields, color: boolean): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) => `${name}=${typeof value === 'string' && /[\s"=]/.test(value) ? JSON.stringify(value) : value}`,
    );
  const name = level.toUpperCase().padEnd(5);
  const shown = color ? styleText(colors[level], name, { validateStream: false }) : name;
  return [time.slice(11, 19), shown, visible([event, ...rest].join(' '))].join(' ');
}
