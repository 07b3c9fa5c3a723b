import { type ChildProcess, spawn } from 'node:child_process';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A running server. */
export interface RunningServer {
  readonly pid: number;
  readonly port: number;
  /** Milliseconds from starting the process to its first ready answer. */
  readonly startMilliseconds: number;
  stop(): Promise<void>;
}

const readyWithinMilliseconds = 20_000;
const stopWithinMilliseconds = 15_000;
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a Node program; it is killed, at the latest, when this process ends. */
export function startNode(args: readonly string[], settings: { cwd: string; env: NodeJS.ProcessEnv; ipc?: boolean }) {
  const channel = settings.ipc === true ? (['ipc'] as const) : [];
  const { cwd, env } = settings;
  const child = spawn(process.execPath, [...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe', ...channel] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => output.push(text));
  }
  return { child, output: () => output.join('').slice(-4000) };
}

/** Starts a server and waits until `/readyz` answers 200. */
export async function startServer(
  args: readonly string[],
  settings: { cwd: string; env: NodeJS.ProcessEnv; port: number },
): Promise<RunningServer> {
  const startedAt = performance.now();
  const { child, output } = startNode(args, settings);
  while (!(await isReady(settings.port))) {
    const late = performance.now() - startedAt > readyWithinMilliseconds;
    if (late || child.exitCode !== null || child.pid === undefined) {
      await stopChild(child);
      throw new Error(`${args.join(' ')} did not become ready:\n${output()}`);
    }
    await sleep(2);
  }
  const startMilliseconds = performance.now() - startedAt;
  return { pid: child.pid ?? 0, port: settings.port, startMilliseconds, stop: () => stopChild(child) };
}

/** Asks a process to end, and makes it when it does not. */
export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMilliseconds);
  await ended;
  clearTimeout(timer);
}

/** Sends a message to a process started with a channel and waits for the one answer. */
export function ask<Answer>(child: ChildProcess, message: object, withinSeconds: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => done(new Error('no answer from a side process in time')), withinSeconds * 1000);
    const ended = (): void => done(new Error('a side process ended unexpectedly'));
    const answered = (answer: unknown): void => done(undefined, answer as Answer);
    const done = (error: Error | undefined, answer?: Answer): void => {
      clearTimeout(timer);
      child.off('exit', ended).off('message', answered);
      if (error !== undefined || answer === undefined) reject(error ?? new Error('an empty answer'));
      else resolve(answer);
    };
    child.once('exit', ended).once('message', answered);
    child.send(message);
  });
}

/** A port on 127.0.0.1 that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/readyz', agent: false, timeout: 1000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
    request.on('timeout', () => request.destroy());
  });
}
