import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Webhook } from '../model/store.js';
import type { WebhookAddress } from './tables.js';

/** Reads and disables webhooks, and discards the waiting deliveries of disabled ones. */
export interface WebhookStates {
  get(reader: Reader, projectId: string, id: string): Promise<Webhook>;
  /** Disables a webhook until it is enabled again. */
  disable(unit: Unit, webhook: Webhook, reason: string): Promise<void>;
  /** Discards all waiting deliveries of a disabled webhook in several transactions. */
  giveUp(by: AuditContext, webhook: WebhookAddress): Promise<void>;
  /** Discards one batch of them. */
  giveUpSome(unit: Unit, webhook: WebhookAddress): Promise<number>;
}
