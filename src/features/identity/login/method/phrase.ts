import type { Random } from '#src/platform/crypto/random.js';

const qualities = [
  ...['amber', 'ancient', 'bold', 'brave', 'bright', 'brisk', 'calm', 'careful', 'cheerful', 'clever', 'cosy', 'crisp'],
  ...['curious', 'dapper', 'eager', 'early', 'fair', 'famous', 'fearless', 'fluffy', 'friendly', 'gentle', 'glad'],
  ...['golden', 'graceful', 'happy', 'honest', 'humble', 'jolly', 'keen', 'kind', 'lively', 'lucky', 'mellow', 'merry'],
  ...['mighty', 'modest', 'neat', 'noble', 'patient', 'playful', 'polite', 'proud', 'quick', 'quiet', 'rapid', 'rosy'],
  ...['round', 'royal', 'silent', 'silver', 'sincere', 'smooth', 'snug', 'steady', 'sunny', 'swift', 'tidy', 'tiny'],
  ...['trusty', 'vivid', 'warm', 'wise', 'witty'],
] as const;

const things = [
  ...['acorn', 'anchor', 'apple', 'badger', 'barley', 'beacon', 'beaver', 'bell', 'birch', 'bridge', 'brook', 'candle'],
  ...['canyon', 'castle', 'cedar', 'cherry', 'cloud', 'comet', 'compass', 'copper', 'coral', 'cricket', 'dolphin'],
  ...['eagle', 'ember', 'falcon', 'feather', 'fern', 'forest', 'fountain', 'fox', 'garden', 'glacier', 'harbour'],
  ...['hazel', 'heron', 'island', 'ivy', 'kettle', 'lantern', 'lemon', 'lynx', 'maple', 'meadow', 'mill', 'mountain'],
  ...['oak', 'orchard', 'otter', 'owl', 'pebble', 'piano', 'pine', 'planet', 'plum', 'raven', 'river', 'robin'],
  ...['sparrow', 'spruce', 'thunder', 'tiger', 'valley', 'willow'],
] as const;

/** Two words shown in both the response and the message, so that people can match the message to their request. */
export function phrase(random: Random): string {
  const [first = 0, second = 0] = random.bytes(2);
  return `${qualities[first % qualities.length]} ${things[second % things.length]}`;
}
