// A process of its own: another user who asks for its account all the time, how long that took, and how
// late its own timers were: on a busy machine that is what nobody but the machine adds. Prints its times as JSON when stdin ends.
import { Agent, get } from 'node:http';

const [url = '', headers = '{}'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const everyMs = 100;
const times: number[] = [];
const failures: string[] = [];
let over = false;
process.stdin.on('end', () => {
  over = true;
});
process.stdin.resume();

const ask = () =>
  new Promise<void>((done) => {
    const started = performance.now();
    const message = get(url, { agent, headers: JSON.parse(headers) }, (answer) => {
      answer.resume();
      answer.on('end', () => {
        times.push(performance.now() - started);
        if (answer.statusCode !== 200) failures.push(`status ${answer.statusCode}`);
        done();
      });
    });
    message.on('error', (error: NodeJS.ErrnoException) => {
      // A connection that idled is closed by the server, sometimes just as it is used.
      if (error.code !== 'ECONNRESET') failures.push(String(error.code ?? error.message));
      done();
    });
  });

const lags: number[] = [];
while (!over) {
  await ask();
  const due = performance.now() + everyMs;
  await new Promise((resolve) => setTimeout(resolve, everyMs));
  lags.push(performance.now() - due);
}
agent.destroy();
process.stdout.write(JSON.stringify({ times, lags, failures: failures.slice(0, 10) }));
