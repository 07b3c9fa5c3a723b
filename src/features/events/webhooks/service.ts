import { Failure } from '#src/contract/errors.js';
import { webhookLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { commonFields, type ListField, type ListRequest, type Lists } from '#src/platform/list-query/index.js';
import type { EventStore } from './deliveries/event-store.js';
import { aadOf } from './deliveries/post.js';
import { demandSecret, newSecret } from './deliveries/signature.js';
import type { DeliveryStore } from './deliveries/store.js';
import type { WebhookAddress } from './deliveries/tables.js';
import { type Webhook, type WebhookStore, webhooks } from './store.js';

/** What a caller decides about a webhook. */
interface WebhookDraft {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  readonly tls: boolean;
  readonly authUsername: string;
  /** Empty for none. */
  readonly authPassword: string;
}

/** Some of it, for a change. */
type WebhookChange = { readonly [K in keyof WebhookDraft]?: WebhookDraft[K] | undefined };

/** A webhook together with the secret that it has just been given. */
interface WithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** What webhooks lean on in the database. */
interface Stores {
  readonly store: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly events: EventStore;
}

const fields = {
  ...commonFields,
  name: { column: 'name', type: 'text' },
  url: { column: 'url', type: 'text' },
  events: { column: 'events', type: 'texts' },
  enabled: { column: 'enabled', type: 'boolean' },
  tls: { column: 'tls', type: 'boolean' },
  authUsername: { column: 'auth_username', type: 'text' },
  attempts: { column: 'attempts', type: 'integer' },
} as const satisfies Readonly<Record<string, ListField>>;

/** Deliveries that are given up or removed in one unit: a webhook can have more of them than one statement has time for. */
const endedAtOnce = 1000;

/** Gives up and removes deliveries, however many there are. */
function createRemoval(db: Pick<Runtime['db'], 'all' | 'work'>, { store, deliveries, events }: Stores) {
  /** Makes changes in units of their own until one makes fewer than that. */
  const inSteps = async (by: AuditContext, least: number, some: (unit: Unit) => Query): Promise<void> => {
    while ((await db.work(by, (unit) => unit.run(some(unit)))) >= least);
  };
  /** What waits goes last, and if it is little only with the webhook, so that a removal which was interrupted has lost nothing of one that stays. */
  const empty = async (by: AuditContext, webhook: WebhookAddress): Promise<void> => {
    for (const which of ['ended', 'all'] as const)
      await inSteps(by, endedAtOnce, () => deliveries.removeSome(webhook, which, endedAtOnce));
  };
  return {
    /** Removes most deliveries of a webhook, in several transactions; the last ones go with it. */
    empty,
    /** Removes most deliveries and events of a project, likewise. */
    emptyProject: async (by: AuditContext, projectId: string): Promise<void> => {
      for (const row of await db.all(store.ofProject(projectId))) await empty(by, webhooks.decode(row));
      await inSteps(by, endedAtOnce, () => events.removeSome(projectId, endedAtOnce));
    },
    /** Gives up what waits for a disabled webhook, likewise. */
    giveUp: (by: AuditContext, webhook: WebhookAddress): Promise<void> =>
      inSteps(by, 1, (unit) => deliveries.discardSome(webhook, unit.now, endedAtOnce)),
    /** Gives up some of it. */
    giveUpSome: (unit: Unit, webhook: WebhookAddress): Promise<number> =>
      unit.run(deliveries.discardSome(webhook, unit.now, endedAtOnce)),
  };
}

/** The webhooks of projects. */
export function createWebhooks(
  {
    db,
    clock,
    random,
    sealing,
    egress,
    config,
  }: Pick<Runtime, 'db' | 'clock' | 'random' | 'sealing' | 'egress' | 'config'>,
  { store, deliveries, events }: Stores,
  lists: Lists,
) {
  const resource = ({ id }: Pick<Webhook, 'id'>) => `webhooks/${id}`;
  const target = ({ name, url, events: names, enabled }: Webhook) => ({
    name,
    host: new URL(url).host,
    events: [...names],
    enabled,
  });
  const seal = (project: Project, id: string, column: Parameters<typeof aadOf>[1], value: string) =>
    sealing.seal(project.id, project.dataKey, aadOf({ id }, column), value);
  const password = (project: Project, id: string, text: string) =>
    text === '' ? null : seal(project, id, 'authPassword', text);
  const demandTarget = ({ url, tls }: WebhookChange): void => {
    if (url !== undefined) egress.check(url);
    if (tls !== false || config.allowInsecure) return;
    throw new Failure('general_argument_invalid', {
      message:
        "Invalid `tls` param: certificates are always verified, unless the installation's settings allow otherwise.",
    });
  };

  const get = async (reader: Reader, projectId: string, id: string): Promise<Webhook> => {
    const row = await reader.one(store.find(projectId, id));
    if (row === undefined) throw new Failure('webhook_not_found');
    return webhooks.decode(row);
  };
  const change = async (unit: Unit, { projectId, id }: Webhook, input: Partial<Webhook>): Promise<Webhook> => {
    const row = await unit.one(store.update(projectId, id, { ...input, updatedAt: unit.now }));
    if (row === undefined) throw new Failure('webhook_not_found');
    return webhooks.decode(row);
  };

  const { empty, ...removal } = createRemoval(db, { store, deliveries, events });

  return {
    get,
    ...removal,
    /** A page of the webhooks, and how many there are in all pages. */
    list: async (projectId: string, request: ListRequest): Promise<{ total: number; webhooks: Webhook[] }> => {
      const listing = { rows: store.rows(projectId), select: store.columns(), fields };
      const { total, rows } = await lists.read(db, listing, request);
      return { total, webhooks: rows.map((row) => webhooks.decode(row)) };
    },
    /** Makes a webhook with a secret of its own, given or new. Throws Failure where the address is not allowed. */
    create: async (
      unit: Unit,
      project: Project,
      input: WebhookDraft & { readonly id: string; readonly secret?: string | undefined },
    ): Promise<WithSecret> => {
      demandTarget(input);
      if (input.secret !== undefined) demandSecret(input.secret);
      // Held until the commit, so that of webhooks made at once none is one too many.
      if ((await unit.one(events.lockSequence(project.id))) === undefined) throw new Failure('project_not_found');
      if (Number((await unit.one(store.count(project.id)))?.total) >= webhookLimits.perProject)
        throw new Failure('webhook_limit_exceeded');
      const id = input.id === uniqueId ? random.id() : input.id;
      const secret = input.secret ?? newSecret(random);
      const { name, url, events: names, enabled, tls, authUsername } = input;
      const webhook: Webhook = {
        projectId: project.id,
        id,
        name,
        url,
        events: names,
        enabled,
        tls,
        authUsername,
        authPassword: password(project, id, input.authPassword),
        secret: seal(project, id, 'secret', secret),
        previousSecret: null,
        previousUntil: null,
        attempts: 0,
        logs: '',
        failingSince: null,
        createdAt: unit.now,
        updatedAt: unit.now,
      };
      if ((await unit.one(store.insert(webhook))) === undefined) throw new Failure('webhook_already_exists');
      unit.record('webhookCreated', { resource: resource(webhook), payload: target(webhook) });
      return { webhook, secret };
    },
    /** Changes what is given. Enabling forgets failures; who disables gives up what waits. */
    update: async (unit: Unit, project: Project, id: string, input: WebhookChange): Promise<Webhook> => {
      const webhook = await get(unit, project.id, id);
      demandTarget(input);
      // Events that get their numbers at this moment do so for the webhooks as they were before; those that follow wait for the change.
      if (input.enabled !== false) await unit.one(events.lockSequence(project.id));
      const { authPassword, ...rest } = input;
      const changed = await change(unit, webhook, {
        ...(Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as Partial<Webhook>),
        ...(authPassword === undefined ? {} : { authPassword: password(project, id, authPassword) }),
        ...(input.enabled === true ? { attempts: 0, failingSince: null } : {}),
      });
      unit.record('webhookUpdated', { resource: resource(webhook), payload: target(changed) });
      return changed;
    },
    /** Removes a webhook with its deliveries, in several transactions. */
    remove: async (by: AuditContext, projectId: string, id: string): Promise<void> => {
      await empty(by, await get(db, projectId, id));
      await db.work(by, async (unit) => {
        const { name } = await get(unit, projectId, id);
        await unit.run(store.remove(projectId, id));
        unit.record('webhookDeleted', { resource: `webhooks/${id}`, payload: { name } });
      });
    },
    /** Gives a webhook another secret; the old one signs too for as long as the overlap says. */
    rotate: async (
      unit: Unit,
      project: Project,
      id: string,
      { secret: given, overlapSeconds }: { readonly secret?: string | undefined; readonly overlapSeconds: number },
    ): Promise<WithSecret> => {
      if (given !== undefined) demandSecret(given);
      const before = await get(unit, project.id, id);
      // One that does not open signs no more; a new secret is the way out.
      const old = sealing.tryOpen(project.id, project.dataKey, aadOf(before, 'secret'), before.secret);
      const overlaps = overlapSeconds > 0 && old !== undefined;
      const secret = given ?? newSecret(random);
      const webhook = await change(unit, before, {
        secret: seal(project, id, 'secret', secret),
        previousSecret: overlaps ? seal(project, id, 'previousSecret', old) : null,
        previousUntil: !overlaps ? null : instantOf(millisecondsOf(unit.now) + overlapSeconds * 1000),
      });
      const payload = { name: webhook.name, overlapSeconds };
      unit.record('webhookSecretRotated', { resource: resource(webhook), payload });
      return { webhook, secret };
    },
    /** Some of the webhooks of all projects of which nothing but failures came for that long, those first that are disabled by failures. */
    failing: async (forMs: number, limit: number): Promise<Webhook[]> =>
      (await db.all(store.failing(instantOf(clock.now() - forMs), limit))).map((row) => webhooks.decode(row)),
    /** Disables a webhook until somebody enables it again. */
    disable: async (unit: Unit, webhook: Webhook, reason: string): Promise<void> => {
      await change(unit, webhook, { enabled: false });
      unit.record('webhookDisabled', { resource: resource(webhook), payload: { name: webhook.name, reason } });
    },
  };
}

/** The webhooks service. */
export type Webhooks = ReturnType<typeof createWebhooks>;
