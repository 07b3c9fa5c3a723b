import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '#src/platform/config/schema.js';
import { examine } from '../doctor/examination.js';
import { type CommandCall, command } from '../line/command.js';
import { onlyProject } from '../line/listed-ids.js';
import { ratesBetween, type ServerSample, sampleServer } from '../serving/server-metrics.js';
import { assembleStatus, observeServer, readDatabaseStatus, type Status } from '../serving/status.js';
import { statusLines, watchLines } from '../serving/status-lines.js';
import { exitCodes, usageError } from '../terminal/exit.js';
import { endAtSignal } from '../terminal/interrupt.js';
import { Lines } from '../terminal/lines.js';
import { writeOut } from '../terminal/output.js';

const watchMs = 1000;
/** Rounds of the watch after which the findings are looked for again. */
const findingsEvery = 60;
const databaseEvery = 5;

/** `svc status` */
export const statusCommand = command({
  path: 'status',
  summary:
    'Shows what runs: server, database, requests, latency, errors, sessions, backlogs, disk, memory and findings. Exit code 6 if no server answers',
  options: [
    { flag: '--watch', summary: 'show it live, until q or Ctrl+C; in a pipe with --json, one JSON object a second' },
    {
      flag: '--output',
      short: '-o',
      value: 'FORMAT',
      summary: 'env prints SVC_ENDPOINT and SVC_PROJECT_ID',
      choices: ['env', 'text'],
    },
  ],
  examples: ['svc status', 'svc status --json'],
  needs: 'config',
  run: async (call) => {
    const { args, output, loaded } = call;
    const { config } = loaded;
    if (args.isSet('--watch')) {
      await watch(call, config);
      return undefined;
    }
    if (args.text('--output') === 'env') {
      const isRunning = (await sampleServer(config)) !== undefined;
      const value = {
        SVC_ENDPOINT: config.baseUrl,
        SVC_PROJECT_ID: config.project ?? (await onlyProject(loaded).catch(() => undefined)) ?? '',
      };
      const text = Lines.of(Object.entries(value).map(([name, one]) => `${name}=${one}`));
      return { value, text, exitCode: isRunning ? exitCodes.ok : exitCodes.unreachable };
    }
    const [observed, database, findings] = await Promise.all([
      observeServer(config),
      readDatabaseStatus(config),
      findingsOf(call),
    ]);
    const status = assembleStatus(config, observed, database, findings);
    output.result({
      value: status,
      text: statusLines(status),
      ...(status.running ? {} : { next: 'svc serve' }),
    });
    // Exits explicitly, because checks that timed out may still be waiting.
    process.stdout.write('', () => process.exit(status.running ? exitCodes.ok : exitCodes.unreachable));
    return undefined;
  },
});

async function findingsOf(call: CommandCall): Promise<number | null> {
  try {
    return (await examine(call, { offline: true })).findings.length;
  } catch {
    return null;
  }
}

async function watch(call: CommandCall, config: Config): Promise<void> {
  const { output } = call;
  const isTerminal = process.stdout.isTTY === true && !output.json;
  if (!isTerminal && !output.json)
    throw usageError('--watch needs a terminal, or --json.', 'svc status --watch --json');
  const ended = new AbortController();
  const stop = () => ended.abort();
  endAtSignal(stop);
  const close = isTerminal ? openScreen(stop) : () => {};
  try {
    const history: Status[] = [];
    let before: ServerSample | undefined;
    let [database, findings] = await Promise.all([readDatabaseStatus(config), findingsOf(call)]);
    for (let round = 0; !ended.signal.aborted; round++) {
      const after = await sampleServer(config);
      if (round % databaseEvery === 0 && round > 0) database = await readDatabaseStatus(config);
      if (round % findingsEvery === 0 && round > 0) findings = await findingsOf(call);
      const observed = after && { sample: after, rates: ratesBetween(before ?? after, after) };
      const status = assembleStatus(config, observed, database, findings);
      before = after;
      history.push(status);
      if (isTerminal) drawScreen(output.color, history);
      else await output.entry({ value: status, text: '' });
      await sleep(watchMs, undefined, { signal: ended.signal }).catch(() => {});
    }
  } finally {
    close();
  }
  process.exit();
}

/** Shows a screen of its own and reads keys. Returns a function that restores the terminal. */
function openScreen(stop: () => void): () => void {
  const { stdin, stdout } = process;
  stdout.write('\x1b[?1049h\x1b[?25l');
  if (stdin.isTTY) {
    stdin.setRawMode(true).resume();
    stdin.on('data', (keys: Buffer) => {
      if (keys.includes('\x03')) process.exitCode = exitCodes.interrupted;
      if (['q', 'Q', '\x03', '\x04'].some((key) => keys.includes(key))) stop();
    });
  }
  return () => {
    if (stdin.isTTY) stdin.setRawMode(false).pause();
    stdout.write('\x1b[?25h\x1b[?1049l');
  };
}

function drawScreen(color: boolean, history: readonly Status[]): void {
  const { columns = 80, rows = 24 } = process.stdout;
  const text = watchLines(history, columns, color).slice(0, rows - 1);
  void writeOut(`\x1b[H${text.map((line) => `${line}\x1b[K`).join('\n')}\x1b[J`);
}
