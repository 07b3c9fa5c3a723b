// Runs `svc` commands one after another in one process, because loading the command line takes longer than most commands.
// Each command gets its own arguments, environment, directory and streams; the harness starts a fresh host after one that called process.exit().
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** A command to run. */
export interface CommandRequest {
  readonly args: readonly string[];
  readonly input: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** How it ended; `last` if the host ends with it. */
export interface CommandReply {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly last: boolean;
}

const [main = ''] = process.argv.slice(2);
const exit = process.exit.bind(process);
const written = { out: '', err: '' };
let isEnding = false;
const ownListeners = new Map(process.eventNames().map((name) => [name, process.listeners(name as 'exit')]));

capture(process.stdout, 'out');
capture(process.stderr, 'err');
process.exit = ((code?: number) => answer(code ?? Number(process.exitCode ?? 0), true)) as typeof process.exit;
process.on('message', (request: CommandRequest) => void run(request));
process.on('disconnect', () => exit(0));

async function run({ args, input, env, cwd }: CommandRequest): Promise<void> {
  Object.assign(written, { out: '', err: '' });
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, { NODE_ENV: 'production', ...env });
  process.chdir(cwd);
  process.argv = [process.execPath, 'svc', ...args];
  process.exitCode = undefined;
  Object.defineProperty(process, 'stdin', {
    value: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    configurable: true,
  });
  const program: { main(argv: string[]): Promise<void> } = await import(pathToFileURL(main).href);
  await program.main([...args]);
  // A command may call process.exit() when its output is written.
  await turn();
  removeListeners();
  answer(Number(process.exitCode ?? 0), false);
}

function capture(stream: NodeJS.WriteStream, name: 'out' | 'err'): void {
  stream.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
    written[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const done = rest.find((argument) => typeof argument === 'function');
    if (done !== undefined) process.nextTick(done as () => void);
    return true;
  }) as typeof stream.write;
}

/** A command adds handlers for its signals and errors, which end with its process otherwise. */
function removeListeners(): void {
  for (const name of process.eventNames()) {
    const own = ownListeners.get(name) ?? [];
    if (name === 'message' || name === 'disconnect') continue;
    for (const listener of process.listeners(name as 'exit'))
      if (!own.includes(listener)) process.off(name as 'exit', listener);
  }
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
}

function answer(code: number, last: boolean): void {
  if (isEnding) return;
  isEnding = last;
  const reply: CommandReply = { code, ...written, last };
  process.send?.(reply, undefined, undefined, () => {
    if (last) exit(0);
  });
}
