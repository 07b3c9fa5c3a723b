// Rounds of load that end with a strike, and the verdict over all of them.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../documents/random.js';
import type { Server } from '../harness/cli.js';
import { repeatsOf, type Strike } from './deliveries.js';
import { createJournal } from './journal.js';
import { connections, createLoad } from './load.js';
import { type KeptReceiver, startKeptReceiver } from './posts.js';
import { furnish, type Scene, setTheScene } from './scene.js';
import { readStored, untilDelivered } from './stored.js';
import { type Evidence, findFaults } from './verdict.js';

/** The load of a round, while it runs. */
export type Load = ReturnType<ReturnType<typeof createLoad>>;

/** Takes a process away in the middle of the load, brings it back and ends the load. Returns the server that runs then. */
export type Striker = (scene: Scene, server: Server, load: Load, random: Random) => Promise<Server>;

/** An installation under load, with everything that is known of it. */
interface Course {
  readonly scene: Scene;
  readonly journal: ReturnType<typeof createJournal>;
  readonly receiver: KeptReceiver;
  readonly strikes: Strike[];
  readonly start: (server: Server) => Load;
}

/** Makes an installation and its clients. */
export async function prepare(random: Random, postgres?: string): Promise<Course> {
  const receiver = await startKeptReceiver(random);
  const scene = await setTheScene(receiver.origin, connections, postgres);
  const journal = createJournal();
  return { scene, journal, receiver, strikes: [], start: createLoad(scene, journal, random.below(2 ** 31)) };
}

/** Starts the server for the first time. */
export async function begin({ scene }: Course): Promise<Server> {
  const server = await scene.place.serve();
  await furnish(scene, server);
  return server;
}

/** Strikes in so many rounds, each 0.2 to 3 s after the 200th acknowledged write. */
export async function runRounds(
  course: Course,
  server: Server,
  { rounds, strike, random }: { rounds: number; strike: Striker; random: Random },
): Promise<Server> {
  let running = server;
  for (let round = 0; round < rounds; round++) {
    const load = course.start(running);
    await load.acknowledged(200);
    await sleep(200 + random.below(2800));
    const from = Date.now();
    running = await strike(course.scene, running, load, random);
    course.strikes.push({ from, to: Date.now() });
  }
  return running;
}

/** Waits until everything is delivered and gathers what is known. */
export async function gather({ scene, journal, receiver, strikes }: Course, server: Server): Promise<Evidence> {
  await untilDelivered(scene);
  const stored = await readStored(scene, server);
  return { writes: journal.writes, posts: receiver.posts, strikes, stored };
}

/** Fails with the first faults, if any; otherwise says in one line what there was. */
export function pronounce(evidence: Evidence): string {
  const faults = findFaults(evidence);
  assert.deepEqual(faults.slice(0, 10), [], `${faults.length} faults`);
  const { writes, posts, stored } = evidence;
  const acknowledged = writes.filter(({ answer }) => answer !== undefined).length;
  assert.ok(
    posts.some(({ status }) => status === 500),
    'the receiver has failed no post',
  );
  return (
    `${evidence.strikes.length} strikes, ${acknowledged} writes acknowledged, ${writes.length - acknowledged} unknown, ` +
    `${stored.events.length} events, ${posts.length} posts, ${repeatsOf(posts).length} duplicates`
  );
}
