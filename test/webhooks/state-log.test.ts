// What the log says of a receiver: when it begins to fail and when it works again, once for all processes and over a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '#src/platform/runtime/log.js';
import { startReceiver } from '../harness/receiver.js';
import { aKey, anEvent, attemptsOf, aWebhook, eventually, startOpen } from './setup.js';

const first = await startOpen();
const second = await first.startSibling();
const key = await aKey(first);

/** Waits until at least so many attempts are recorded: on a slow machine the first ones are repeated meanwhile. */
const attempted = (
  of: Awaited<ReturnType<typeof aKey>>,
  webhook: Awaited<ReturnType<typeof aWebhook>>,
  count: number,
) =>
  eventually(async () => {
    const { length } = await attemptsOf(of, webhook);
    assert.ok(length >= count, String(length));
  });

const lines = (...of: (typeof first)[]) =>
  of
    .flatMap((target) => target.log().split('\n'))
    .filter((line) => /"webhooks\.(failing|working)"/.test(line))
    .map((line) => JSON.parse(line))
    .sort((a, b) => (a.time < b.time ? -1 : 1));

test('the first failure and the recovery are one line each, for all processes', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  await anEvent(first);
  await attempted(key, webhook, 1);
  assert.deepEqual(lines(first, second), [], 'a receiver that works is not logged');

  receiver.answer = (response) => response.writeHead(500).end();
  for (let count = 2; count < 8; count++) {
    await anEvent(count % 2 === 0 ? first : second);
    await attempted(key, webhook, count);
  }
  const [failing, ...more] = lines(first, second);
  assert.deepEqual(more, []);
  const { level, event, project, webhook: id, error } = failing;
  assert.deepEqual([level, event, project, id], ['warn', 'webhooks.failing', first.project.id, webhook.id]);
  assert.equal(error, 'answered 500');

  // A process that starts meanwhile does not say it again.
  const third = await first.startSibling();
  await anEvent(third);
  await attempted(key, webhook, 8);
  assert.equal(lines(first, second, third).length, 1);

  receiver.answer = (response) => response.end();
  for (let count = 9; count < 12; count++) {
    await anEvent(first);
    await attempted(key, webhook, count);
  }
  const said = lines(first, second, third).map((line) => [line.level, line.event, line.webhook]);
  assert.deepEqual(said.slice(1), [['info', 'webhooks.working', webhook.id]]);
});

test('a receiver that fails every other time does not fill the log', async () => {
  const receiver = await startReceiver();
  const webhook = await aWebhook(key, receiver.origin);
  for (let count = 1; count <= 12; count++) {
    receiver.answer = (response) => response.writeHead(count % 2 === 0 ? 204 : 500).end();
    await anEvent(first);
    await attempted(key, webhook, count);
  }
  const said = lines(first, second)
    .filter(({ webhook: id }) => id === webhook.id)
    .map(({ event }) => event);
  // Each process may say each once in a minute.
  assert.ok(said.length <= 2 * 3, said.join());
  assert.ok(said.includes('webhooks.failing'));
});

test('probes are logged at the level debug, and other requests at info', async () => {
  for (const [level, expected] of [
    ['info', ['info request operations.openapi']],
    [
      'debug',
      [
        ...['health', 'ready', 'metrics', 'health'].map((name) => `debug probe operations.${name}`),
        'info request operations.openapi',
      ],
    ],
  ] as const) {
    const target = await startOpen({ settings: { SVC_LOG_LEVEL: level } });
    for (const path of ['/healthz', '/readyz', '/metrics', '/v1/healthz', '/v1/openapi.json?project=none'])
      await fetch(`${target.origin}${path}`).then((response) => response.arrayBuffer());
    const said = target
      .log()
      .split('\n')
      .filter((line) => /"route":"operations\./.test(line))
      .map((line) => JSON.parse(line))
      .map(({ level: of, event, route }) => `${of} ${event} ${route}`);
    assert.deepEqual(said.slice(-expected.length), expected);
    assert.equal(
      said.some((line) => line.includes('probe')),
      level === 'debug',
    );
  }
});

const csi = String.fromCharCode(27);

test('the time and the level are coloured in a terminal, and nothing else is', () => {
  const said: string[] = [];
  const options = { level: 'debug', format: 'pretty', now: () => 0, write: (text: string) => said.push(text) } as const;
  for (const color of [true, false]) {
    const log = createLog({ ...options, color });
    log.error('some.event', { name: `${csi}[31mred` });
    log.warn('some.event');
    log.flush();
  }
  const [error = '', warning = '', plain = ''] = said;
  assert.equal(error, `${csi}[2m00:00:00${csi}[22m ${csi}[31mERROR${csi}[39m some.event name=\\u001b[31mred\n`);
  assert.ok(warning.includes(`${csi}[33mWARN ${csi}`), warning);
  assert.equal(plain, '00:00:00 ERROR some.event name=\\u001b[31mred\n');
});
