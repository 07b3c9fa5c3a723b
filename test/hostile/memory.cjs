// Loaded into the server under test before anything else: tells its memory when SIGUSR2 asks, after collecting garbage.
const { renameSync, writeFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const file = process.env.HOSTILE_MEMORY_FILE;
if (isMainThread && file !== undefined) {
  require('node:v8').setFlagsFromString('--expose-gc');
  const collect = require('node:vm').runInNewContext('gc');
  process.on('SIGUSR2', () => {
    for (let round = 0; round < 3; round++) collect();
    writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()));
    renameSync(`${file}.new`, file);
  });
}
