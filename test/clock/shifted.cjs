// Loaded before the server by NODE_OPTIONS: `Date` tells the time of the machine and as many milliseconds more as a file says. Timers,
// `performance` and `process.hrtime` are what they are.
const { readFileSync, watchFile } = require('node:fs');

const file = process.env.SVC_TEST_CLOCK_FILE;
let shift = 0;
const read = () => {
  try {
    shift = Number(readFileSync(file, 'utf8'));
  } catch {
    shift = 0;
  }
};

if (file !== undefined) {
  const Real = Date;
  const now = () => Real.now() + shift;
  globalThis.Date = new Proxy(Real, {
    construct: (target, given, type) => Reflect.construct(target, given.length === 0 ? [now()] : given, type),
    apply: () => new Real(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
  read();
  watchFile(file, { interval: 20, persistent: false }, read);
}
