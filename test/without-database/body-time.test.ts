// The time in which the body of a request must arrive, with timers of our own: it is a minute.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { bodyMs } from '#src/contract/limits.js';
import { endOwnBodyTime, ownBodyTime, watchBodyTime } from '#src/http/body-time.js';

const aRequest = () =>
  Object.assign(new EventEmitter(), {
    headers: { 'content-length': '100' },
    complete: false,
    destroyed: false,
  }) as unknown as IncomingMessage & { complete: boolean };

test('a late body is reported once; a file has its own time, and the parts after it the time of a body again', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const late: string[] = [];
  const watched = (name: string) => {
    const request = aRequest();
    watchBodyTime(request, () => late.push(name));
    return request;
  };
  watched('slow');
  const complete = watched('complete');
  complete.complete = true;
  watched('gone').emit('close');
  const file = watched('file');
  ownBodyTime(file);
  const after = watched('after a file');
  ownBodyTime(after);
  t.mock.timers.tick(bodyMs - 1);
  assert.deepEqual(late, []);
  t.mock.timers.tick(1);
  assert.deepEqual(late, ['slow']);
  endOwnBodyTime(after);
  t.mock.timers.tick(bodyMs - 1);
  assert.deepEqual(late, ['slow']);
  t.mock.timers.tick(bodyMs);
  assert.deepEqual(late, ['slow', 'after a file']);
});
