// What a run of the suite cost: totals of each half, its slowest files, and a table per folder of two runs
// (node --import tsx test/times.ts BEFORE.json AFTER.json).
import { AsyncResource } from 'node:async_hooks';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { addSuite, endFile, noteTests, stopFollowing } from './harness/runner.js';

/** The cost of a test file. CPU seconds include those of the child processes it waited for, but not those of the shared Postgres. */
interface FileTimes {
  readonly file: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Servers started inside test processes, `svc serve` processes, and other `svc` commands. */
type StartKind = 'server' | 'serve' | 'command';

/** The cost of one half of the suite. */
export interface RunTimes {
  readonly database: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly starts: Readonly<Record<StartKind, number>>;
  /** Slowest first. */
  readonly files: readonly FileTimes[];
}

/** The folder in which the processes of a run leave their measurements; unset when a file is run by itself. */
const folder = process.env.SVC_TEST_TIMES;

let loading: Promise<unknown> = Promise.resolve();

/**
 * Runs the tests of a file as a suite that is named after it, and measures them. The files of a process are loaded one after another; then
 * their tests run, one after another as well.
 */
export function runFile(file: string, load: () => Promise<unknown>): void {
  addSuite(() => describe(file, () => suiteOf(file, load)));
}

async function suiteOf(file: string, load: () => Promise<unknown>): Promise<void> {
  const spent = { seconds: 0, cpuSeconds: 0 };
  const stopwatch = () => {
    const [began, cpuBefore] = [performance.now(), cpuMilliseconds()];
    return () => {
      spent.seconds += (performance.now() - began) / 1000;
      spent.cpuSeconds += (cpuMilliseconds() - cpuBefore) / 1000;
    };
  };
  let stop = () => {};
  noteTests();
  before(async () => {
    await loading;
    stopFollowing();
    stop = stopwatch();
  });
  // The runner finds the suite of a test by its asynchronous context, which waiting for the other files would lose.
  const suite = new AsyncResource('test file');
  const loaded = loading.then(() =>
    suite.runInAsyncScope(async () => {
      const stopLoading = stopwatch();
      await load();
      stopLoading();
      after(() => {
        stop();
        if (folder !== undefined) appendFileSync(join(folder, 'files'), `${JSON.stringify({ file, ...spent })}\n`);
        return endFile();
      });
    }),
  );
  loading = loaded.catch(() => {});
  await loaded;
}

/** Counts a start. */
export function countStart(kind: StartKind): void {
  if (folder !== undefined) appendFileSync(join(folder, 'starts'), `${kind}\n`);
}

/** Reads what the processes of a run left in the folder. */
export function readTimes(from: string): Pick<RunTimes, 'starts' | 'files'> {
  const files = linesOf(join(from, 'files')).map((line): FileTimes => JSON.parse(line));
  const starts = linesOf(join(from, 'starts'));
  const count = (kind: StartKind) => starts.filter((line) => line === kind).length;
  return {
    files: files.sort((a, b) => b.seconds - a.seconds),
    starts: { server: count('server'), serve: count('serve'), command: count('command') },
  };
}

/** The closing lines of a half. */
export function summarize({ database, seconds, cpuSeconds, starts, files }: RunTimes): string {
  const slowest = files.slice(0, 20).map((file) => `${columns([file.seconds, file.cpuSeconds])}  ${file.file}`);
  return [
    `\n${database}: ${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} CPU seconds, ${starts.server} servers and ${starts.serve} served processes started, ${starts.command} commands`,
    '  seconds      CPU  slowest files',
    ...slowest,
    '',
  ].join('\n');
}

/** CPU seconds of the child processes that have ended and were waited for; 0 if there is no /proc. */
export function cpuSecondsOfChildren(): number {
  try {
    // proc(5): after the name in parentheses, cutime and cstime are the 14th and 15th field, in ticks of 10 ms.
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    return 0;
  }
}

function cpuMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + cpuSecondsOfChildren() * 1000;
}

function linesOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
}

/** Compares two runs, a row for each folder. */
function compare(earlier: readonly RunTimes[], later: readonly RunTimes[]): string {
  const lines: string[] = [];
  for (const now of later) {
    const then = earlier.find(({ database }) => database === now.database);
    if (then === undefined) continue;
    lines.push(
      `${now.database}: ${then.seconds.toFixed(0)} s -> ${now.seconds.toFixed(0)} s, CPU ${then.cpuSeconds.toFixed(0)} s -> ${now.cpuSeconds.toFixed(0)} s`,
      ' s before    after  CPU bef.    after  folder',
    );
    for (const name of [...new Set([...then.files, ...now.files].map(folderOf))].sort()) {
      const [a, b] = [then, now].map(({ files }) => files.filter((file) => folderOf(file) === name)) as [
        FileTimes[],
        FileTimes[],
      ];
      lines.push(
        `${columns([sum(a, 'seconds'), sum(b, 'seconds'), sum(a, 'cpuSeconds'), sum(b, 'cpuSeconds')])}  ${name}`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

function sum(files: readonly FileTimes[], field: 'seconds' | 'cpuSeconds'): number {
  return files.reduce((total, file) => total + file[field], 0);
}

function folderOf({ file }: FileTimes): string {
  return file.split('/').slice(0, 2).join('/');
}

function columns(values: readonly number[]): string {
  return values.map((value) => value.toFixed(1).padStart(9)).join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [earlier, later] = process.argv.slice(2).map((path): RunTimes[] => JSON.parse(readFileSync(path, 'utf8')));
  if (earlier === undefined || later === undefined) throw new Error('usage: test/times.ts BEFORE.json AFTER.json');
  process.stdout.write(compare(earlier, later));
}
