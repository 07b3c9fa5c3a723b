import { type LogFields, shortLine } from './log-line.js';

/** Severity, lowest first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof logLevels)[number];

/** Writes one line per event: JSON, or readable text for a terminal. */
export interface Log {
  /** True if lines of this level are written, for callers on a hot path. */
  isOn(level: Level): boolean;
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Writes the buffered lines. */
  flush(): void;
  /** Changes the lowest level that is written. */
  setLevel(level: Level): void;
  /** Opens the file of the log again. Throws the system's error; then the old file stays in use. */
  reopen(): void;
}

/** Options of a log: threshold, format, clock and output. */
interface LogOptions {
  readonly level: Level;
  readonly format: 'json' | 'pretty';
  /** True if levels of the pretty format are coloured: the output is a terminal with colours. */
  readonly color?: boolean;
  readonly now: () => number;
  readonly write: (lines: string) => void;
  /** Opens the output again, if it is a file. */
  readonly reopen?: () => void;
  /** True if the reader of the log is so far behind that further lines must be dropped. */
  readonly isBehind?: () => boolean;
}

/** Most bytes buffered for a stalled reader of stderr, so that the log does not fill the memory of the process. */
export const mostWaitingBytes = 1_048_576;

/** Matches text with the shape of a secret of this service or of a JWT, anywhere in a line. */
const secretShapes = /\b(?:(?:ss|sk)_[A-Za-z0-9_.-]{8,}|whsec_[A-Za-z0-9+/=_-]+|eyJ[A-Za-z0-9_-]{8,}[A-Za-z0-9_.-]*)/g;
const flushAfterMs = 20;

/** Creates a log. Lines are written in batches, errors at once. */
export function createLog(options: LogOptions): Log {
  let threshold = logLevels.indexOf(options.level);
  let buffer = '';
  let timer: NodeJS.Timeout | undefined;
  let dropped = 0;
  const lineOf = (level: Level, event: string, fields: LogFields): string => {
    const time = new Date(options.now()).toISOString();
    const line =
      options.format === 'json'
        ? jsonLine(time, level, event, fields)
        : shortLine({ time, level, event, fields }, { color: options.color ?? false });
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
    const severity = logLevels.indexOf(level);
    return (event: string, fields: LogFields = {}) => {
      if (severity < threshold) return;
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
    setLevel: (level) => {
      threshold = logLevels.indexOf(level);
    },
    reopen: () => {
      flush();
      options.reopen?.();
    },
  };
  return log;
}

function jsonLine(time: string, level: Level, event: string, fields: LogFields): string {
  return JSON.stringify({ time, level, event, ...fields });
}
