import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after } from './runner.js';

/** Where commands are typed. */
type Place = { cwd: string; env: NodeJS.ProcessEnv };

/** A server that was started by a command. */
type Serving = {
  /** What its terminal shows so far. */
  said(): string;
  /** Sends TERM and returns the exit code, or the signal where there is none, once everything has ended. */
  stop(): Promise<unknown>;
};

const bash = ['-euo', 'pipefail'];

/** Types commands of which the last one serves, and waits for the line that says that it is ready. It ends with the calling test. */
export async function serve(text: string, { cwd, env }: Place): Promise<Serving> {
  // It leads a group of its own, so that everything it started hears a signal.
  const child = spawn('bash', [...bash, '-c', text], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const closed = once(child, 'close');
  after(() => signal(child, 'SIGKILL'));
  let said = '';
  await new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += chunk;
      if (/^svc is ready: http/m.test(said)) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('close', (status) => reject(new Error(`ended with ${status} before it was ready:\n${said}`)));
  });
  return {
    said: () => said,
    stop: async () => {
      signal(child, 'SIGTERM');
      const [status, by] = await closed;
      return status ?? by;
    },
  };
}

function signal({ pid, exitCode, signalCode }: ChildProcess, name: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, name);
}

/** Types commands into one shell, which stops at the first that fails. */
export async function typeInto(text: string, { cwd, env }: Place) {
  const shell = spawn('bash', bash, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  shell.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  shell.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  shell.stdin.end(text);
  const [status] = await once(shell, 'close');
  return { status, stdout, stderr };
}
