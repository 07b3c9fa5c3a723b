// A terminal for commands that ask questions: Python, which a checkout needs anyway, has pseudo-terminals and Node has none.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { root } from './checkout.js';
import type { Installation } from './cli.js';

/** The widths at which everything that asks is tested. */
export const widths: readonly number[] = [50, 80, 120];

/** Each answer is typed when its question has appeared and the command waits; an empty one waits for the text only. */
type Dialogue = readonly (readonly [question: string, answer: string])[];

const script = `
import fcntl, json, os, pty, signal, struct, sys, termios, time
argv, dialogue, columns = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
    os.execvp(argv[0], argv)
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
signal.alarm(60)
out, seen = b'', 0
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    out += part
    while dialogue and dialogue[0][0].encode() in out[seen:]:
        question, answer = (text.encode() for text in dialogue.pop(0))
        if not answer:
            seen = out.index(question, seen) + len(question)
            continue
        # A question reads key by key; other commands get a moment instead.
        for _ in range(30):
            time.sleep(0.01)
            if not termios.tcgetattr(terminal)[3] & termios.ICANON:
                break
        time.sleep(0.02)
        seen = len(out)
        os.write(terminal, answer)
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(out)
sys.exit(os.waitstatus_to_exitcode(status))
`;

/** Runs `svc` at a terminal and answers its questions; `out` is the screen without its control sequences. */
export function atTerminal(place: Installation, args: readonly string[], dialogue: Dialogue, columns = 200) {
  return programAtTerminal(place, ['svc', ...args], dialogue, columns);
}

/** Runs any program at a terminal, likewise. */
async function programAtTerminal(
  { dir, env }: Pick<Installation, 'dir' | 'env'>,
  argv: readonly string[],
  dialogue: Dialogue,
  columns: number,
): Promise<{ code: number | null; out: string }> {
  const child = spawn('python3', ['-c', script, JSON.stringify([argv, dialogue, columns])], {
    ...{ cwd: dir, env: { ...env, TERM: 'xterm' } },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    screen += part;
  });
  const [code] = await once(child, 'close');
  const controls = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g');
  return { code, out: screen.replace(controls, '') };
}

/** How one of several commands ended at a terminal, and the screen from its start to its end. */
type Ended = { readonly code: number; readonly screen: string };

/**
 * Runs several commands one after the other at one terminal, in one process, as the start of a process takes far longer than a question; with
 * the dialogue of each. A command that prints a question of another one is no matter: each looks at its own part of the screen.
 */
export async function commandsAtTerminal(
  { dir, env }: Pick<Installation, 'dir' | 'env'>,
  commands: readonly { readonly args: readonly string[]; readonly dialogue?: Dialogue }[],
  columns: number,
): Promise<Ended[]> {
  const program = `
    const { main } = await import(${JSON.stringify(join(root, 'dist/main.js'))});
    for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0);
    for (const [at, args] of ${JSON.stringify(commands.map(({ args }) => args))}.entries()) {
      console.log('run ' + at + ';');
      process.exitCode = 0;
      await main(args);
      console.log('ended ' + at + ' with ' + process.exitCode + ';');
    }`;
  const dialogue = commands.flatMap(({ dialogue = [] }, at) => [[`run ${at};`, ''] as const, ...dialogue]);
  const argv = [process.execPath, '--input-type=module', '--eval', program];
  const { out } = await programAtTerminal({ dir, env }, argv, dialogue, columns);
  const screens = out.split(/run \d+;/).slice(1);
  assert.equal(screens.length, commands.length, out);
  return screens.map((screen, at) => {
    const [, printed = '', code] = new RegExp(`^([^]*)ended ${at} with (\\d+);`).exec(screen) ?? [];
    assert.ok(code !== undefined, `${commands[at]?.args.join(' ')}: ${screen}`);
    return { code: Number(code), screen: printed.trim() };
  });
}

/** The words of a screen, wherever its lines break. */
export const flat = (screen: string): string => screen.replace(/\s+/g, ' ');
