// A terminal for commands that ask questions: Python, which a checkout needs anyway, has pseudo-terminals and Node has none.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Installation } from './cli.js';

/** Each answer is typed when its question has appeared and the command waits. */
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
    if dialogue and dialogue[0][0].encode() in out[seen:]:
        time.sleep(0.3)
        seen = len(out)
        os.write(terminal, dialogue.pop(0)[1].encode())
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(out)
sys.exit(os.waitstatus_to_exitcode(status))
`;

/** Runs a command at a terminal and answers its questions; `out` is the screen without its control sequences. */
export async function atTerminal(
  { dir, env }: Installation,
  args: readonly string[],
  dialogue: Dialogue,
  columns = 200,
): Promise<{ code: number | null; out: string }> {
  const child = spawn('python3', ['-c', script, JSON.stringify([['svc', ...args], dialogue, columns])], {
    ...{ cwd: dir, env: { ...env, TERM: 'xterm' } },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    screen += part;
  });
  const [code] = await once(child, 'close');
  const controls = new RegExp(`${String.fromCharCode(27)}\\\\[[0-9;?]*[A-Za-z]`, 'g');
  return { code, out: screen.replace(controls, '') };
}
