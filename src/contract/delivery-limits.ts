/** Webhooks of a project, and what a delivery may cost. */
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
  /** How long a process keeps a delivery that it has begun. */
  leaseMs: 60_000,
  /** Deliveries under way at once: of a webhook, and in all, in a process. */
  atOncePerWebhook: 4,
  atOnce: 128,
  /** Bytes; a body with more than these of data is a long one. */
  longBytes: 65_536,
  /** Bytes of long bodies under way at once: of a webhook, and in all, in a process. The last one may exceed them. */
  longAtOncePerWebhook: 8_388_608,
  longAtOnce: 33_554_432,
  /** Days of nothing but failures after which a webhook is disabled. */
  failingDays: 5,
  overlapSeconds: 86_400,
  maxOverlapSeconds: 604_800,
  retentionDays: 30,
} as const;

/** Seconds between an attempt that failed and the next; after the last of them the delivery is dead. */
export const deliveryDelays = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
