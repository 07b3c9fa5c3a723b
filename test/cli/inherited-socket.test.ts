// A socket that systemd has opened: requests wait in it while the server is restarted, so that none is refused.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { after } from '../harness/runner.js';
import { eventually } from '../webhooks/setup.js';

const skip = spawnSync('perl', ['-MSocket', '-e', '1']).status === 0 ? false : 'Perl is not installed';

/** What systemd does: listens, and starts the server again with the same socket as descriptor 3 whenever it ends. */
const supervisor = `
  use Socket; $^F = 9;
  socket(S, PF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in($ARGV[0], INADDR_LOOPBACK)) or die; listen(S, 511);
  die unless fileno(S) == 3;
  for (1 .. 3) { my $pid = fork; exec 'sh', '-c', 'LISTEN_PID=$$ LISTEN_FDS=$1 exec svc serve --json', 'sh', $ARGV[1] unless $pid; waitpid $pid, 0; }`;

async function startSupervised(sockets: number) {
  const place = await install();
  const port = await freePort();
  const child = spawn('perl', ['-e', supervisor, String(port), String(sockets)], {
    cwd: place.dir,
    env: place.env,
    // In a group of its own, with the servers that it starts.
    detached: true,
  });
  const printed = { out: '', err: '' };
  child.stdout.on('data', (part) => (printed.out += part));
  child.stderr.on('data', (part) => (printed.err += part));
  const ended = once(child, 'exit');
  after(async () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // All of them have ended.
    }
    await ended;
    await place.dispose();
  });
  // Each server prints one value.
  const servers = () =>
    [...printed.out.matchAll(/^\{.*?^\}/gms)].map(([text]) => JSON.parse(text) as { port: number; pid: number });
  return { port, printed, servers };
}

test('no request is refused while a server with a socket of systemd is restarted', { skip }, async () => {
  const { port, servers } = await startSupervised(1);
  await eventually(() => assert.equal(servers().length, 1));
  assert.equal(servers()[0]?.port, port);
  let hasEnded = false;
  let answered = 0;
  const failed: string[] = [];
  const load = Array.from({ length: 4 }, async () => {
    while (!hasEnded) {
      const request = fetch(`http://127.0.0.1:${port}/v1/ping`, { headers: { Connection: 'close' } });
      const status = await request.then(({ status: one }) => one, String);
      if (status === 200 || status === 404) answered += 1;
      else failed.push(String(status));
    }
  });
  for (const round of [1, 2]) {
    process.kill(servers().at(-1)?.pid as number, 'SIGTERM');
    await eventually(() => assert.equal(servers().length, round + 1));
  }
  const soFar = answered;
  await eventually(() => assert.ok(answered > soFar + 10));
  hasEnded = true;
  await Promise.all(load);
  assert.deepEqual(failed, []);
});

test('several sockets are refused', { skip }, async () => {
  const { printed } = await startSupervised(2);
  await eventually(() => assert.match(printed.err, /systemd passes 2 sockets, and svc listens on one/));
});
