import { Failure, invalidParam } from '#src/contract/errors.js';
import { webhookLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Query } from '#src/platform/db/query.js';
import type { Steps } from '#src/platform/db/steps.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { commonFields, type ListField, type ListRequest, type Lists } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { EventStore } from './deliveries/event-store.js';
import { aadOf } from './deliveries/post.js';
import { newSecret, requireSecret } from './deliveries/signature.js';
import type { DeliveryStore } from './deliveries/store.js';
import type { WebhookAddress, WebhookStates } from './deliveries/tables.js';
import { type Webhook, type WebhookStore, webhooks } from './model/store.js';

/** Properties of a webhook chosen by the caller. */
interface WebhookDraft {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  readonly tls: boolean;
  readonly authUsername: string;
  /** Empty if there is none. */
  readonly authPassword: string;
}

/** A partial draft, for a change. */
type WebhookChange = { readonly [K in keyof WebhookDraft]?: WebhookDraft[K] | undefined };

/** A webhook with its new secret. */
interface WithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** A webhook to be created. */
type NewWebhook = WebhookDraft & { readonly id: string; readonly secret?: string | undefined };

/** A change of the secret: to the given one, or else a random one. */
interface Rotation {
  readonly secret?: string | undefined;
  readonly overlapSeconds: number;
}

/** Database access of the service. */
interface Stores {
  readonly store: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly events: EventStore;
}

interface Deps extends Stores, Pick<Runtime, 'db' | 'clock' | 'random' | 'sealing' | 'egress' | 'config'> {
  readonly lists: Lists;
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

/** Deliveries discarded or deleted per unit. A webhook can have more of them than one statement can handle in time. */
const endedAtOnce = 1000;

/** The webhooks service. */
export interface Webhooks extends WebhookStates {
  /** A page of webhooks, and their number on all pages. */
  list(projectId: string, request: ListRequest): Promise<{ total: number; webhooks: Webhook[] }>;
  /** Creates a webhook with a given or new secret. Throws Failure if its URL is not allowed. */
  create(unit: Unit, project: Project, input: NewWebhook): Promise<WithSecret>;
  /**
   * Changes the given properties. Enabling resets failures. After disabling, the caller must discard waiting deliveries with `giveUp`.
   */
  update(unit: Unit, project: Project, id: string, input: WebhookChange): Promise<Webhook>;
  /** Removes a webhook with its deliveries, in several transactions. */
  remove(by: AuditContext, projectId: string, id: string): Promise<void>;
  /** Deletes the deliveries and events of a project in several transactions. Removing the project deletes any that remain. */
  emptyProject(by: AuditContext, projectId: string, steps: Steps): Promise<void>;
  /** Replaces the secret of a webhook. The old one also signs during the overlap. */
  rotate(unit: Unit, project: Project, id: string, rotation: Rotation): Promise<WithSecret>;
  /** Webhooks of all projects with nothing but failures for `forMs`. Those disabled by failures come first. */
  failing(forMs: number, limit: number): Promise<Webhook[]>;
}

/** The webhooks of projects. */
export function createWebhooks(runtime: Omit<Deps, 'lists' | keyof Stores>, stores: Stores, lists: Lists): Webhooks {
  const deps: Deps = { ...runtime, ...stores, lists };
  return {
    ...bind(deps, { list, get, create, update, remove, rotate, failing }),
    ...bind(deps, { disable, emptyProject, giveUp, giveUpSome }),
  };
}

async function list({ db, store, lists }: Deps, projectId: string, request: ListRequest) {
  const listing = { rows: store.rows(projectId), select: webhooks.row, fields };
  const { total, rows } = await lists.read(db, listing, request);
  return { total, webhooks: rows.map((row) => webhooks.decode(row)) };
}

async function get({ store }: Deps, reader: Reader, projectId: string, id: string): Promise<Webhook> {
  return existing(await reader.one(store.find(projectId, id)));
}

function existing(row: Row | undefined): Webhook {
  if (row === undefined) throw new Failure('webhook_not_found');
  return webhooks.decode(row);
}

async function create(deps: Deps, unit: Unit, project: Project, input: NewWebhook): Promise<WithSecret> {
  const { store, events, random } = deps;
  requireTarget(deps, input);
  if (input.secret !== undefined) requireSecret(input.secret);
  // Locks the sequence until the commit, so that concurrent creates cannot exceed the limit.
  if ((await unit.one(events.lockSequence(project.id))) === undefined) throw new Failure('project_not_found');
  if (Number((await unit.one(store.count(project.id)))?.total) >= webhookLimits.perProject)
    throw new Failure('webhook_limit_exceeded');
  const id = input.id === uniqueId ? random.id() : input.id;
  const secret = input.secret ?? newSecret(random);
  const webhook: Webhook = {
    ...input,
    projectId: project.id,
    id,
    authPassword: sealPassword(deps, project, id, input.authPassword),
    secret: seal(deps, project, id, 'secret', secret),
    previousSecret: null,
    previousUntil: null,
    attempts: 0,
    logs: '',
    failingSince: null,
    createdAt: unit.now,
    updatedAt: unit.now,
  };
  if ((await unit.one(store.insert(webhook))) === undefined) throw new Failure('webhook_already_exists');
  unit.record('webhookCreated', { resource: resourceOf(webhook), payload: recordedOf(webhook) });
  return { webhook, secret };
}

function requireTarget({ egress, config }: Deps, { url, tls }: WebhookChange): void {
  if (url !== undefined) egress.check(url);
  if (tls !== false || config.allowInsecure) return;
  throw invalidParam('tls', "certificates are always verified, unless the installation's settings allow otherwise.");
}

function seal({ sealing }: Deps, project: Project, id: string, column: Parameters<typeof aadOf>[1], value: string) {
  return sealing.seal(project.id, project.dataKey, aadOf({ id }, column), value);
}

function sealPassword(deps: Deps, project: Project, id: string, text: string): string | null {
  return text === '' ? null : seal(deps, project, id, 'authPassword', text);
}

const resourceOf = ({ id }: Pick<Webhook, 'id'>) => `webhooks/${id}`;

/** The payload of changes. */
function recordedOf({ name, url, events, enabled }: Webhook) {
  return { name, host: new URL(url).host, events: [...events], enabled };
}

async function update(deps: Deps, unit: Unit, project: Project, id: string, input: WebhookChange): Promise<Webhook> {
  const webhook = await get(deps, unit, project.id, id);
  requireTarget(deps, input);
  // Events being numbered now use the webhooks from before the change. Later events wait for it.
  if (input.enabled !== false) await unit.one(deps.events.lockSequence(project.id));
  const { authPassword, ...rest } = input;
  const changed = await change(deps, unit, webhook, {
    ...(Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as Partial<Webhook>),
    ...(authPassword === undefined ? {} : { authPassword: sealPassword(deps, project, id, authPassword) }),
    ...(input.enabled === true ? { attempts: 0 } : {}),
    // A disabled webhook that has failed since a time is one that the service disabled.
    ...(input.enabled === undefined ? {} : { failingSince: null }),
  });
  unit.record('webhookUpdated', { resource: resourceOf(webhook), payload: recordedOf(changed) });
  return changed;
}

async function change({ store }: Deps, unit: Unit, { projectId, id }: Webhook, input: Partial<Webhook>) {
  return existing(await unit.one(store.update(projectId, id, { ...input, updatedAt: unit.now })));
}

async function remove(deps: Deps, by: AuditContext, projectId: string, id: string): Promise<void> {
  const { db, store } = deps;
  await empty(deps, by, await get(deps, db, projectId, id));
  await db.work(by, async (unit) => {
    const { name } = await get(deps, unit, projectId, id);
    await unit.run(store.remove(projectId, id));
    unit.record('webhookDeleted', { resource: resourceOf({ id }), payload: { name } });
  });
}

/** Deletes the deliveries of a webhook in several transactions. Deletes waiting ones last, so that an interruption does not lose them. */
async function empty(deps: Deps, by: AuditContext, webhook: WebhookAddress): Promise<void> {
  for (const which of ['ended', 'all'] as const)
    await inSteps(deps, by, endedAtOnce, () => deps.deliveries.removeSome(webhook, which, endedAtOnce));
}

/** Repeats a change in separate units until one changes fewer rows than `least`. */
async function inSteps({ db }: Deps, by: AuditContext, least: number, some: (unit: Unit) => Query): Promise<void> {
  while ((await db.work(by, (unit) => unit.run(some(unit)))) >= least);
}

async function rotate(deps: Deps, unit: Unit, project: Project, id: string, rotation: Rotation): Promise<WithSecret> {
  const { random, sealing } = deps;
  const { secret: given, overlapSeconds } = rotation;
  if (given !== undefined) requireSecret(given);
  const before = await get(deps, unit, project.id, id);
  // An old secret that cannot be opened no longer signs. Rotation is the way to repair it.
  const old = sealing.tryOpen(project.id, project.dataKey, aadOf(before, 'secret'), before.secret);
  const overlaps = overlapSeconds > 0 && old !== undefined;
  const secret = given ?? newSecret(random);
  const webhook = await change(deps, unit, before, {
    secret: seal(deps, project, id, 'secret', secret),
    previousSecret: overlaps ? seal(deps, project, id, 'previousSecret', old) : null,
    previousUntil: !overlaps ? null : instantOf(millisecondsOf(unit.now) + overlapSeconds * 1000),
  });
  const payload = { name: webhook.name, overlapSeconds };
  unit.record('webhookSecretRotated', { resource: resourceOf(webhook), payload });
  return { webhook, secret };
}

async function failing({ db, clock, store }: Deps, forMs: number, limit: number): Promise<Webhook[]> {
  return (await db.all(store.failing(instantOf(clock.now() - forMs), limit))).map((row) => webhooks.decode(row));
}

async function disable(deps: Deps, unit: Unit, webhook: Webhook, reason: string): Promise<void> {
  await change(deps, unit, webhook, { enabled: false });
  unit.record('webhookDisabled', { resource: resourceOf(webhook), payload: { name: webhook.name, reason } });
}

async function emptyProject({ db, events }: Deps, by: AuditContext, projectId: string, steps: Steps): Promise<void> {
  for (const which of ['numbered', 'unnumbered'] as const)
    await steps.run('events', (limit) => db.work(by, (unit) => unit.run(events.removeSome(projectId, which, limit))));
}

function giveUp(deps: Deps, by: AuditContext, webhook: WebhookAddress): Promise<void> {
  return inSteps(deps, by, 1, (unit) => deps.deliveries.discardSome(webhook, unit.now, endedAtOnce));
}

function giveUpSome({ deliveries }: Deps, unit: Unit, webhook: WebhookAddress): Promise<number> {
  return unit.run(deliveries.discardSome(webhook, unit.now, endedAtOnce));
}
