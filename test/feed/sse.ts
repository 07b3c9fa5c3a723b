// Reads server-sent events as a browser does (HTML Living Standard, section 9.2.6).
import assert from 'node:assert/strict';
import type { TestAppliance } from '../harness/appliance.js';
import { rowsOf } from '../harness/database.js';
import { after } from '../harness/runner.js';
import { eventually } from '../webhooks/setup.js';

type Json = Record<string, unknown>;

/** An event as it arrived. */
interface ArrivedEvent {
  readonly id: string;
  readonly data: Json;
}

/** An open stream with what has arrived so far. */
export interface TestStream {
  readonly events: readonly ArrivedEvent[];
  readonly comments: () => number;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  /** Waits until so many events have arrived. */
  arrived(count: number): Promise<readonly ArrivedEvent[]>;
  close(): void;
}

/** Waits until every event of the test's project has its number. */
export function numbered(target: TestAppliance): Promise<void> {
  return eventually(async () => {
    const rows = await rowsOf(target, 'events', target.project.id);
    assert.ok(rows.every(({ sequence }) => sequence !== null));
  });
}

/** Opens a stream of what happens from now on; fails where the server answers with anything else. */
export async function openStream(
  target: TestAppliance,
  headers: Readonly<Record<string, string>>,
  query = '',
): Promise<TestStream> {
  await numbered(target);
  const aborted = new AbortController();
  after(() => aborted.abort());
  const response = await fetch(`${target.origin}/v1/events${query}`, {
    headers: { Accept: 'text/event-stream', ...headers },
    signal: aborted.signal,
  });
  assert.equal(response.status, 200, response.status === 200 ? '' : await response.text());
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const events: ArrivedEvent[] = [];
  let comments = 0;
  const read = async () => {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body ?? []) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        if (part.startsWith(':')) comments += 1;
        else {
          const [id = '', data = ''] = part.split('\n');
          events.push({ id: id.slice('id: '.length), data: JSON.parse(data.slice('data: '.length)) });
        }
      }
    }
  };
  return {
    events,
    comments: () => comments,
    ended: read().catch(() => {}),
    arrived: (count) =>
      eventually(() => {
        assert.equal(events.length, count, JSON.stringify(events.map(({ data }) => data.type)));
        return events;
      }),
    close: () => aborted.abort(),
  };
}
