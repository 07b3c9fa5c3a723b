// What has to be true of the posts, given the events that are committed.
import { isDeepStrictEqual } from 'node:util';
import type { Post } from './posts.js';
import type { StoredEvent } from './stored.js';
import type { Evidence, Rule } from './verdict.js';

/** A time during which a process was taken away, in milliseconds. */
export interface Strike {
  readonly from: number;
  readonly to: number;
}

/** What a receiver answered this long before a strike, or after it, may not have been written down. */
const settlingMs = 5000;

/** Rules about posts. */
export const deliveryRules: readonly Rule[] = [
  numbersHaveNoGaps,
  everyEventIsDelivered,
  postsAreOfEvents,
  repeatsHaveAReason,
];

const isTaken = ({ status }: Post) => status < 300;

function numbersHaveNoGaps({ stored }: Evidence): string[] {
  return stored.events
    .map(({ sequence }) => sequence)
    .sort((a, b) => (a ?? 0) - (b ?? 0))
    .flatMap((sequence, index, all) => {
      const wanted = index === 0 ? 1 : (all[index - 1] ?? 0) + 1;
      return sequence === wanted ? [] : [`the event after number ${wanted - 1} has number ${sequence}`];
    });
}

function everyEventIsDelivered({ stored, posts }: Evidence): string[] {
  const taken = new Set(posts.filter(isTaken).map(({ body }) => body.id));
  return stored.events.filter(({ id }) => !taken.has(id)).map(({ id, type }) => `${type} ${id}: never delivered`);
}

function postsAreOfEvents({ stored, posts }: Evidence): string[] {
  const events = new Map(stored.events.map((event) => [event.id, event]));
  return posts.flatMap(({ body }) => {
    const event = events.get(String(body.id));
    if (event === undefined) return [`${body.type} ${body.id}: delivered, and no event`];
    return tells(body, event) ? [] : [`${body.type} ${body.id}: delivered otherwise than committed`];
  });
}

function tells(body: Post['body'], { type, at, sequence, data }: StoredEvent): boolean {
  const told = [body.type, Date.parse(String(body.timestamp)), body.sequence, body.data];
  return isDeepStrictEqual(told, [type, Date.parse(at), sequence, data]);
}

/** Posts of events that had been taken before. */
export function repeatsOf(posts: readonly Post[]): { readonly first: Post; readonly again: Post }[] {
  const taken = new Map<unknown, Post>();
  const repeats: { first: Post; again: Post }[] = [];
  for (const post of posts) {
    const first = taken.get(post.body.id);
    if (first !== undefined) repeats.push({ first, again: post });
    else if (isTaken(post)) taken.set(post.body.id, post);
  }
  return repeats;
}

function repeatsHaveAReason({ posts, strikes }: Evidence): string[] {
  return repeatsOf(posts)
    .filter(
      ({ first, again }) =>
        !strikes.some(({ from, to }) => first.at > from - settlingMs && first.at < to + settlingMs && again.at > from),
    )
    .map(({ again: { body } }) => `${body.type} ${body.id}: delivered again without a reason`);
}
