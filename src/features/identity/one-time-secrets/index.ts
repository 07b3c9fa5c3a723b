import { codeTries, codeTriesKept } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import { linkSecretLength } from '#src/contract/typed-secret.js';
import { equalDigests, keyedDigest } from '#src/platform/crypto/digest.js';
import type { DerivedKey } from '#src/platform/crypto/key-ring.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import { createSecretStore, oneTimeSecrets, type SecretRow } from './store.js';
import type { Issued } from './view.js';

export { createDisclosure } from './disclosure.js';
export { linkTo, redemptionLink } from './link.js';
export { type Issued, tokenShape, toToken } from './view.js';

/** Form of a secret: six digits to type, 256 bits for a link, or a length requested by a server. */
type Form = 'code' | 'link' | { readonly length: number };

interface IssueRequest {
  /** A name chosen by the issuing feature. A secret of one purpose is not valid for another. */
  readonly purpose: string;
  /** The address it is sent to, or the user. The next secret with the same purpose and subject voids this one. */
  readonly subject: string;
  /** Null if redeeming the secret creates the user. */
  readonly userId: string | null;
  /** The id returned to the caller instead of the user's id. */
  readonly alias?: string;
  /** The address or number it is sent to; empty if it is handed over. */
  readonly recipient: string;
  readonly form: Form;
  readonly lifeSeconds: number;
}

/** Data of a redeemed secret. */
export type Redeemed = Pick<SecretRow, 'id' | 'purpose' | 'userId' | 'alias' | 'recipient' | 'createdAt' | 'expire'>;

/** A secret presented by a caller, with its possible purposes and the user named by id or alias. */
interface Presented {
  readonly purposes: readonly string[];
  readonly userId: string;
  readonly secret: string;
}

type SecretStore = ReturnType<typeof createSecretStore>;

interface Deps extends Pick<Runtime, 'db' | 'clock' | 'random'> {
  readonly store: SecretStore;
  readonly pepper: DerivedKey;
}

/** The service for one-time secrets. */
export interface OneTimeSecrets {
  readonly jobs: Job[];
  /** Issues a secret and voids the previous one of the same purpose and subject. */
  issue(unit: Unit, project: Project, request: IssueRequest): Promise<Issued>;
  /**
   * Redeems a secret of one of the purposes; the user may be named by id or alias. Undefined if anything is wrong: the caller must then
   * end with `unit.refuse`, so that the attempt stays counted.
   */
  redeem(unit: Unit, project: Project, presented: Presented): Promise<Redeemed | undefined>;
  /**
   * Finds a secret without redeeming it or counting an attempt, so that the user can be locked before the secret. The result must not
   * reach the caller.
   */
  peek(unit: Unit, project: Project, presented: Presented): Promise<SecretRow | undefined>;
  /**
   * The user of an open link, without redeeming it; undefined if there is none. Codes are excluded, because comparing a code has to count
   * as an attempt.
   */
  ownerOf(project: Project, presented: Presented): Promise<string | undefined>;
  /** Voids the open secrets of a user or an address, for these purposes or all. */
  void(
    unit: Unit,
    project: Project,
    purposes: readonly string[] | 'every',
    whose: { readonly userId: string } | { readonly recipient: string },
  ): Promise<void>;
}

/**
 * One-time codes and links, bound to user, purpose, project and the request that asked for them. Wrong guesses use up the attempts of short
 * ones.
 */
export function createOneTimeSecrets(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>,
): OneTimeSecrets {
  const { db, sql, clock, random, sealing } = runtime;
  const store = createSecretStore(sql);
  const prune: Job = {
    name: 'secrets.prune',
    schedule: '0 20 * * * *',
    summary: 'Deletes codes and links that have expired',
    lease: 'database',
    run: async (signal) => {
      const by = { projectId: null, actor: { kind: 'job', id: 'secrets.prune' }, requestId: random.id() };
      await pruneInBatches(db, by, signal, (limit) => store.prune(instantOf(clock.now()), limit));
    },
  };
  const deps: Deps = { db, clock, random, store, pepper: sealing.derive('one-time-secrets') };
  return {
    ...bind(deps, { issue, redeem, peek, ownerOf }),
    jobs: [prune],
    void: async (unit, project, purposes, whose) => {
      await unit.run(store.remove(project.id, purposes, whose));
    },
  };
}

async function issue(deps: Deps, unit: Unit, project: Project, request: IssueRequest): Promise<Issued> {
  const { random, store } = deps;
  const { purpose, subject, userId, recipient } = request;
  const secret = secretOf(deps, request.form);
  const row = { projectId: project.id, purpose, id: random.id(), createdAt: unit.now };
  const expire = instantOf(millisecondsOf(unit.now) + request.lifeSeconds * 1000);
  const alias = request.alias ?? userId;
  if (alias === null) throw new TypeError('a secret for nobody yet needs an id to be redeemed by');
  await unit.run(
    store.put({
      ...row,
      subject,
      userId,
      alias,
      recipient,
      digest: digestOf(deps, row, secret),
      length: secret.length,
      triesLeft: secret.length < linkSecretLength ? codeTries : null,
      usedAt: null,
      expire,
    }),
  );
  return { id: row.id, userId: alias, secret, createdAt: unit.now, expire };
}

function secretOf({ random }: Deps, form: Form): string {
  if (form === 'code') return random.digits(6);
  return form === 'link' ? random.secret() : random.text(form.length);
}

type Digested = Pick<SecretRow, 'projectId' | 'purpose' | 'id' | 'createdAt'>;

function digestOf({ pepper }: Deps, { projectId, purpose, id, createdAt }: Digested, secret: string): string {
  return keyedDigest(pepper(createdAt), [projectId, purpose, id, secret].join('\n'));
}

async function redeem(deps: Deps, unit: Unit, project: Project, presented: Presented): Promise<Redeemed | undefined> {
  const { store } = deps;
  const { secret } = presented;
  for (const open of await openOf(deps, unit, project, presented, unit.now)) {
    const { id, length } = open;
    if (length !== secret.length) continue;
    const taken = await unit.one(store.takeTry(id, triesKeptFrom(presented.userId, open), unit.now));
    const row = taken && oneTimeSecrets.decode(taken);
    if (row === undefined || !matches(deps, row, secret)) continue;
    await unit.run(store.use(id, unit.now));
    const { userId, alias, recipient, createdAt, expire } = row;
    return { id, purpose: row.purpose, userId, alias, recipient, createdAt, expire };
  }
  return undefined;
}

/** Secrets that can still be redeemed and have an attempt left under this id. */
async function openOf({ store }: Deps, reader: Reader, project: Project, presented: Presented, now: Instant) {
  const { purposes, userId } = presented;
  return (await reader.all(store.open(project.id, purposes, userId, now)))
    .map((row) => oneTimeSecrets.decode(row))
    .filter((row) => row.triesLeft === null || row.triesLeft > triesKeptFrom(userId, row));
}

/**
 * Attempts that must remain if the secret is presented with the user's own id instead of its alias. Others know that id and must not use up
 * the attempts of a code issued under an alias.
 */
function triesKeptFrom(userId: string, { alias }: Pick<SecretRow, 'alias'>): number {
  return alias === userId ? 0 : codeTriesKept;
}

function matches(deps: Deps, row: SecretRow, secret: string): boolean {
  return row.length === secret.length && equalDigests(digestOf(deps, row, secret), row.digest);
}

async function peek(deps: Deps, unit: Unit, project: Project, presented: Presented): Promise<SecretRow | undefined> {
  const open = await openOf(deps, unit, project, presented, unit.now);
  return open.find((row) => matches(deps, row, presented.secret));
}

async function ownerOf(deps: Deps, project: Project, presented: Presented): Promise<string | undefined> {
  const open = await openOf(deps, deps.db, project, presented, instantOf(deps.clock.now()));
  const link = open.find((row) => row.length >= linkSecretLength && matches(deps, row, presented.secret));
  return link?.userId ?? undefined;
}
