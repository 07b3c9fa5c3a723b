import { codeTries, codeTriesKept } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { equalDigests, keyedDigest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import { createSecretStore, oneTimeSecrets, type SecretRow } from './store.js';
import type { Issued } from './view.js';

export { createDisclosure } from './disclosure.js';
export { linkTo, redemptionLink } from './link.js';
export { type Issued, tokenShape, toToken } from './view.js';

/** How a secret looks: six digits to be typed, or 256 bits to be followed; or of a length that a server asked for. */
type Form = 'code' | 'link' | { readonly length: number };

/** What is to be issued. */
interface IssueRequest {
  /** What it is good for: a name that the feature which issues it chooses. One that was made for one purpose serves no other. */
  readonly purpose: string;
  /** Whose next request of this purpose voids it: the address it goes to, or the user. */
  readonly subject: string;
  /** Null where redeeming it will create the user. */
  readonly userId: string | null;
  /** The id that the caller is told, where that is not the user's. */
  readonly alias?: string;
  /** The address or number it goes to; empty where it is handed over. */
  readonly recipient: string;
  readonly form: Form;
  readonly lifeSeconds: number;
}

/** What a secret that was redeemed stood for. */
export type Redeemed = Pick<SecretRow, 'id' | 'purpose' | 'userId' | 'alias' | 'recipient' | 'createdAt' | 'expire'>;

/** A secret as somebody presents it: good for one of the purposes, of a user named by either id. */
interface Presented {
  readonly purposes: readonly string[];
  readonly userId: string;
  readonly secret: string;
}

/** Shorter ones could be guessed, so their tries are counted. */
const safeLength = 32;

/** The tries that are not for who names the user by this id: others know the user's own, and must not burn a code that went out under another one. */
function triesKeptFrom(userId: string, { alias }: Pick<SecretRow, 'alias'>): number {
  return alias === userId ? 0 : codeTriesKept;
}

/** Codes and links that count once: bound to user, purpose, project and the request that asked for them; wrong guesses burn short ones. */
export function createOneTimeSecrets({
  db,
  sql,
  clock,
  random,
  sealing,
}: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>) {
  const store = createSecretStore(sql);
  const pepper = sealing.derive('one-time-secrets');
  const digestOf = (row: Pick<SecretRow, 'projectId' | 'purpose' | 'id'>, secret: string) =>
    keyedDigest(pepper, [row.projectId, row.purpose, row.id, secret].join('\n'));
  const secretOf = (form: Form): string => {
    if (form === 'code') return random.digits(6);
    return form === 'link' ? random.secret() : random.text(form.length);
  };
  /** What may still be redeemed, and has a try left for who names the user by this id. */
  const openOf = async (reader: Reader, project: Project, { purposes, userId }: Presented, now: Instant) =>
    (await reader.all(store.open(project.id, purposes, userId, now)))
      .map((row) => oneTimeSecrets.decode(row))
      .filter((row) => row.triesLeft === null || row.triesLeft > triesKeptFrom(userId, row));
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

  return {
    jobs: [prune],
    /** Issues a secret and voids the one before it of the same purpose and subject. */
    issue: async (unit: Unit, project: Project, request: IssueRequest): Promise<Issued> => {
      const { purpose, subject, userId, recipient } = request;
      const secret = secretOf(request.form);
      const row = { projectId: project.id, purpose, id: random.id() };
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
          digest: digestOf(row, secret),
          length: secret.length,
          triesLeft: secret.length < safeLength ? codeTries : null,
          usedAt: null,
          expire,
          createdAt: unit.now,
        }),
      );
      return { id: row.id, userId: alias, secret, createdAt: unit.now, expire };
    },
    /**
     * Redeems a secret of one of the purposes; the user may be named by either id. Undefined where anything is wrong: the caller ends with
     * `unit.refuse`, so that the try stays counted.
     */
    redeem: async (unit: Unit, project: Project, presented: Presented): Promise<Redeemed | undefined> => {
      const { secret } = presented;
      for (const open of await openOf(unit, project, presented, unit.now)) {
        const { id, length } = open;
        if (length !== secret.length) continue;
        const taken = await unit.one(store.takeTry(id, triesKeptFrom(presented.userId, open), unit.now));
        const row = taken && oneTimeSecrets.decode(taken);
        if (row === undefined || !equalDigests(digestOf(row, secret), row.digest)) continue;
        await unit.run(store.use(id, unit.now));
        const { userId, alias, recipient, createdAt, expire } = row;
        return { id, purpose: row.purpose, userId, alias, recipient, createdAt, expire };
      }
      return undefined;
    },
    /**
     * What the secret would stand for, without redeeming it and without counting a try: for holding the user before the secret. It must
     * not be told to the caller.
     */
    peek: async (unit: Unit, project: Project, presented: Presented): Promise<SecretRow | undefined> =>
      (await openOf(unit, project, presented, unit.now)).find(
        (row) => row.length === presented.secret.length && equalDigests(digestOf(row, presented.secret), row.digest),
      ),
    /**
     * The user whose open link this is, without redeeming it; undefined where it is none. Codes are left out: comparing one is a try, and
     * tries are counted.
     */
    ownerOf: async (project: Project, presented: Presented): Promise<string | undefined> => {
      const links = (await openOf(db, project, presented, instantOf(clock.now()))).filter(
        ({ length }) => length === presented.secret.length && length >= safeLength,
      );
      return links.find((row) => equalDigests(digestOf(row, presented.secret), row.digest))?.userId ?? undefined;
    },
    /** Voids what of these purposes, or of every one, a user or an address has open. */
    void: async (
      unit: Unit,
      project: Project,
      purposes: readonly string[] | 'every',
      whose: { readonly userId: string } | { readonly recipient: string },
    ): Promise<void> => {
      await unit.run(store.remove(project.id, purposes, whose));
    },
  };
}

/** The service of one-time secrets. */
export type OneTimeSecrets = ReturnType<typeof createOneTimeSecrets>;
