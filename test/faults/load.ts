// Ten clients that write as fast as they are answered, each to documents and a session owner of its own.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../documents/random.js';
import type { Server } from '../harness/cli.js';
import type { Journal, Json, Write, WrittenEvent } from './journal.js';
import { ask, documentsPath, password, type Scene } from './scene.js';

/** Connections that write at the same time. */
export const connections = 10;

/** Clients under way. */
interface Run {
  /** Waits until so many more writes were acknowledged. */
  acknowledged(count: number): Promise<void>;
  /** Asks for no more. */
  stop(): void;
  /** How many clients the server has left without an answer, once all have ended. */
  readonly ended: Promise<number>;
}

/** Creates the clients; what they know of their documents lasts from run to run. */
export function createLoad(scene: Scene, journal: Journal, seed: number): (server: Server) => Run {
  const clients = scene.people.map((person, index) => createClient(scene, journal, person, seed + index));
  return (server) => {
    let running = true;
    const ends = clients.map((client) =>
      untilStopped(
        () => running,
        () => client(server),
      ),
    );
    const ended = Promise.all(ends).then((cut) => cut.filter(Boolean).length);
    return {
      acknowledged: async (count) => {
        const wanted = journal.acknowledged() + count;
        const until = performance.now() + 60_000;
        while (journal.acknowledged() < wanted) {
          assert.ok(performance.now() < until, 'a minute has passed in vain');
          await Promise.race([sleep(10), ended]);
        }
      },
      stop: () => {
        running = false;
      },
      ended,
    };
  };
}

/** Does something again and again, and tells whether the connection was cut, which fetch reports as a TypeError. */
async function untilStopped(running: () => boolean, step: () => Promise<void>): Promise<boolean> {
  try {
    while (running()) await step();
    return false;
  } catch (error) {
    if (error instanceof TypeError) return true;
    throw error;
  }
}

/** One client: each call is one write, chosen by chance. A document of which no answer came is left alone from then on. */
function createClient({ key, guest }: Scene, journal: Journal, person: string, seed: number) {
  const random = createRandom(seed);
  const documents: string[] = [];
  const login = { email: `${person}@mail.example`, password };
  const requests: Record<WrittenEvent, (write: Write) => [headers: Scene['key'], method: string, path: string, Json?]> =
    {
      documentCreated: ({ subject, number }) => [
        ...([key, 'POST', documentsPath] as const),
        { documentId: subject, data: { number, text: 'x'.repeat(random.below(300)) } },
      ],
      documentUpdated: ({ subject, number }) => [key, 'PATCH', `${documentsPath}/${subject}`, { data: { number } }],
      documentDeleted: ({ subject }) => [key, 'DELETE', `${documentsPath}/${subject}`],
      sessionCreated: () => [guest, 'POST', '/account/sessions/email', login],
    };
  const choose = (): [WrittenEvent, string?] => {
    if (random.chance(0.02)) return ['sessionCreated', person];
    const [document] = documents.length === 0 ? [] : documents.splice(random.below(documents.length), 1);
    if (document === undefined || random.chance(0.4)) {
      if (document !== undefined) documents.push(document);
      return ['documentCreated'];
    }
    return [random.chance(0.7) ? 'documentUpdated' : 'documentDeleted', document];
  };
  return async (server: Server): Promise<void> => {
    const write = journal.open(...choose());
    const [headers, method, path, body] = requests[write.event](write);
    const answer = await ask(server, { ...headers, 'X-Request-Id': write.requestId }, method, path, body);
    if (answer.status === 503) return void (await sleep(20));
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    write.answer = answer.body;
    if (write.event === 'documentCreated' || write.event === 'documentUpdated') documents.push(write.subject);
  };
}
