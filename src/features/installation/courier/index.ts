import { courierLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { type AuditContext, byJob } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { createPruningJob } from '#src/platform/jobs/pruning.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { createWorker, type Worker } from '#src/platform/jobs/worker.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../projects/index.js';
import { createMailbox, type Mailbox } from './mailbox.js';
import { createMailboxAccess, type MailboxAccess } from './mailbox-access.js';
import { type Contents, createContents } from './model/content.js';
import { type MessageName, type MessageVariables, messageLife, messages } from './model/messages.js';
import { createMessageStore, type MessageStore, messageTable } from './model/store.js';
import { type Channels, createChannels } from './sending/channels.js';
import { createDispatch } from './sending/dispatch.js';
import { createMessageMetrics, type MessageMetrics } from './sending/metrics.js';
import { createTexts } from './texts/texts.js';

export { mailboxSeconds } from './mailbox-access.js';
export { type MessageName, type MessageVariables, messageNames, sampleVariables } from './model/messages.js';
export { sealedMessages } from './model/store.js';
export { lintTexts } from './texts/lint.js';
export { createTexts } from './texts/texts.js';
export type { ListedMail, ShownMail } from './view.js';

/** A message to a person. */
interface OutgoingMessage<M extends MessageName> {
  readonly message: M;
  /** Email address or phone number. */
  readonly to: string;
  /** Null if there is no such user yet. */
  readonly userId: string | null;
  /** Display name; may be empty. */
  readonly name: string;
  /** Requested language as a BCP 47 tag; null if unknown. */
  readonly locale: string | null;
  readonly variables: MessageVariables<M>;
}

/** A user, and the addresses and numbers that were theirs. */
interface Person {
  readonly userId: string;
  readonly recipients: readonly string[];
}

/** The courier service. */
export interface Courier {
  /** Stores a message, which is sent after the commit, or kept if there is no mail server or gateway. */
  send<M extends MessageName>(unit: Unit, project: Project, outgoing: OutgoingMessage<M>): void;
  readonly test: Channels['test'];
  /** Deletes messages to a person: those of the user, and those without a user to one of the recipients. Returns their number. */
  erase(by: AuditContext, project: Project, person: Person): Promise<number>;
  readonly mailbox: Mailbox;
  readonly mailboxAccess: MailboxAccess;
  readonly worker: Worker;
  readonly jobs: readonly Job[];
  /** Sends waiting messages now, after the clock was set. */
  settle(): Promise<void>;
}

interface Deps extends Pick<Runtime, 'db' | 'random'> {
  readonly channels: Channels;
  readonly store: MessageStore;
  readonly contents: Contents;
  readonly worker: Worker;
}

const sending = {
  name: 'courier.send',
  schedule: '*/10 * * * * *',
  summary: 'Sends the mails and SMS that are due',
  lease: 'database',
} as const;
const pruning = {
  name: 'courier.prune',
  schedule: '0 40 3 * * *',
  summary: `Deletes messages older than ${courierLimits.retentionDays} days`,
};
/** Messages read per query of an erasure. */
const page = 500;
const keptMs = courierLimits.retentionDays * 86_400_000;

/** Queues messages to people in the unit that caused them, and sends them after the commit. Recipient and variables are sealed. */
export function createCourier(runtime: Runtime, projects: Projects): Courier {
  const { db, sql, clock, log, random } = runtime;
  const metrics = createMessageMetrics(runtime);
  const store = createMessageStore(sql);
  const contents = createContents(runtime);
  const texts = createTexts(runtime.templates, ({ file, line, message }) =>
    log.error('courier.template.faulty', { file, line, reason: message }),
  );
  const needs = { projects, contents, texts };
  const channels = createChannels(runtime, needs);
  const dispatch = createDispatch(runtime, store, channels, metrics);
  const worker = createWorker({
    round: async (again) => {
      await dispatch.begin(again);
      return false;
    },
    idle: dispatch.idle,
    onTrouble: (error) => log.error('courier.failed', { error }),
  });
  runtime.metrics.beforeRender(() => measureBacklog(runtime, store, metrics));
  const deps: Deps = { db, random, channels, store, contents, worker };
  return {
    send: (unit, project, outgoing) => send(deps, unit, project, outgoing),
    test: channels.test,
    erase: (by, project, person) => erase(deps, by, project, person),
    mailbox: createMailbox(runtime, store, needs),
    mailboxAccess: createMailboxAccess(runtime),
    worker,
    jobs: [
      { ...sending, run: dispatch.sendAll },
      createPruningJob(runtime, pruning, (limit) => store.prune(instantOf(clock.now() - keptMs), limit)),
    ],
    settle: async () => {
      await db.work(byJob('clock.settle'), (unit) => unit.run(store.bringForward(unit.now)));
    },
  };
}

async function measureBacklog({ db, clock }: Runtime, store: MessageStore, metrics: MessageMetrics): Promise<void> {
  const rows = await db.all(store.backlog());
  metrics.backlog(
    rows.map(({ channel, waiting, oldest }) => ({
      channel: String(channel),
      waiting: Number(waiting),
      oldestSeconds: Math.max(0, (clock.now() - millisecondsOf(String(oldest))) / 1000),
    })),
  );
}

function send<M extends MessageName>(deps: Deps, unit: Unit, project: Project, outgoing: OutgoingMessage<M>): void {
  const { random, channels, store, contents, worker } = deps;
  const { message, to, userId, name, locale, variables } = outgoing;
  const { channel } = messages[message];
  const life = messageLife[message];
  const isSent = channels.has(channel);
  store.append(unit, {
    projectId: project.id,
    userId,
    template: message,
    channel,
    locale: locale ?? 'en',
    ...contents.seal(project, random.id(), to, {
      project: project.settings['pages.name'] ?? project.name,
      name,
      color: project.settings['pages.color'] ?? '',
      ...variables,
    }),
    state: isSent ? 'pending' : 'kept',
    expire: life === undefined ? null : instantOf(millisecondsOf(unit.now) + life * 1000),
  });
  if (isSent) unit.afterCommit(() => worker.nudge());
}

async function erase(deps: Deps, by: AuditContext, project: Project, { userId, recipients }: Person): Promise<number> {
  const { db, store, contents } = deps;
  let removed = await db.work(by, (unit) => unit.run(store.removeOfUser(project.id, userId)));
  for (let after = ''; recipients.length > 0; ) {
    const rows = (await db.all(store.ownerless(project.id, after, page))).map((row) => messageTable.decode(row));
    const ids = rows.filter((row) => recipients.includes(contents.recipientOf(project, row))).map(({ id }) => id);
    if (ids.length > 0) removed += await db.work(by, (unit) => unit.run(store.remove(ids)));
    if (rows.length < page) break;
    after = rows.at(-1)?.id ?? after;
  }
  return removed;
}
