/** Limits of webhooks and their deliveries. */
export const webhookLimits = {
  perProject: 100,
  /** Characters. */
  name: 128,
  url: 2048,
  credential: 256,
  /** Attempts in a page of the list. */
  page: 1000,
  timeoutMs: 15_000,
  answerBytes: 16_384,
  keptBytes: 1024,
  /** Lease of a delivery by a process. */
  leaseMs: 60_000,
  /** Concurrent deliveries of a process: per webhook, and in total. */
  atOncePerWebhook: 4,
  atOnce: 128,
  /** Bytes; a body with more data is long. */
  longBytes: 65_536,
  /** Bytes of concurrent long bodies of a process: per webhook, and in total. The last one may exceed the limit. */
  longAtOncePerWebhook: 8_388_608,
  longAtOnce: 33_554_432,
  /** Days of uninterrupted failures until a webhook is disabled. */
  failingDays: 5,
  overlapSeconds: 86_400,
  maxOverlapSeconds: 604_800,
  retentionDays: 30,
} as const;

/** Seconds between a failed attempt and the next one; after the last of them the delivery is dead. */
export const deliveryDelays = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
