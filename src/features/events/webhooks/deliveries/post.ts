import { webhookLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { SealedAad } from '#src/platform/crypto/sealing.js';
import type { Runtime } from '#src/platform/index.js';
import { isRunning } from '#src/platform/runtime/clock.js';
import { sealedWebhooks, type Webhook } from '../model/store.js';
import type { DeliveryMetrics } from './metrics.js';
import { failedOutcome, type Outcome, outcomeOf, unreadableSecret } from './outcome.js';
import { signatureHeaders } from './signature.js';

/** An event to be posted. */
interface Message {
  readonly eventId: string;
  readonly event: string;
  readonly body: string;
}

const longestOverlapMs = webhookLimits.maxOverlapSeconds * 1000;

/** Additional authenticated data of a webhook's sealed value: its column and row. */
export function aadOf({ id: row }: Pick<Webhook, 'id'>, column: keyof typeof sealedWebhooks): SealedAad {
  return { column: sealedWebhooks[column], row };
}

/** Posts to a webhook and returns the outcome. */
export type Post = (project: Project, webhook: Webhook, message: Message) => Promise<Outcome>;

/** Creates a function that posts to webhooks. Every error becomes an outcome. */
export function createPost(
  { egress, clock, sealing }: Pick<Runtime, 'egress' | 'clock' | 'sealing'>,
  metrics: DeliveryMetrics,
): Post {
  const secretsOf = (project: Project, webhook: Webhook): [string, ...string[]] => {
    const { secret, previousSecret, previousUntil } = webhook;
    const open = (column: 'secret' | 'previousSecret', sealed: string) =>
      sealing.open(project.id, project.dataKey, aadOf(webhook, column), sealed);
    const current = open('secret', secret);
    const isOver = previousUntil === null || !isRunning(previousUntil, clock.now(), longestOverlapMs);
    if (previousSecret === null || isOver) return [current];
    return [current, open('previousSecret', previousSecret)];
  };
  const authorization = (project: Project, webhook: Webhook): Record<string, string> => {
    const { authUsername, authPassword } = webhook;
    if (authUsername === '' && authPassword === null) return {};
    const password =
      authPassword === null
        ? ''
        : sealing.open(project.id, project.dataKey, aadOf(webhook, 'authPassword'), authPassword);
    return { authorization: `Basic ${Buffer.from(`${authUsername}:${password}`).toString('base64')}` };
  };

  return async (project, webhook, { eventId, event, body }) => {
    const bytes = Buffer.from(body);
    const seconds = Math.floor(clock.now() / 1000);
    const signed = { eventId, event, webhookId: webhook.id, body: bytes, seconds };
    let headers: Record<string, string>;
    try {
      headers = {
        'content-type': 'application/json',
        ...authorization(project, webhook),
        ...signatureHeaders(signed, secretsOf(project, webhook)),
      };
    } catch {
      return unreadableSecret;
    }
    const started = clock.monotonic();
    const passed = () => Math.round(clock.monotonic() - started);
    const outcome = await egress
      .request({
        method: 'POST',
        url: webhook.url,
        headers,
        body: bytes,
        purpose: 'webhook',
        verifyTls: webhook.tls,
        timeoutMs: webhookLimits.timeoutMs,
        maxBytes: webhookLimits.answerBytes,
      })
      .then(
        (answer) => outcomeOf(answer, passed()),
        (error: unknown) => failedOutcome(error, passed()),
      );
    metrics.attempt(outcome.ok ? 'ok' : 'failed', outcome.durationMs / 1000);
    return outcome;
  };
}
