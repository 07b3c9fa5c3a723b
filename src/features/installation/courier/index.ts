import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { createWorker, type Worker } from '#src/platform/jobs/worker.js';
import type { SendResult } from '#src/platform/outbound/send-result.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../projects/index.js';
import { createMessageErasure, type EraseMessages } from './erasure.js';
import { createCourierJobs } from './jobs.js';
import { createMailbox, type Mailbox } from './mailbox.js';
import { createMailboxAccess, type MailboxAccess } from './mailbox-access.js';
import { type Contents, createContents } from './model/content.js';
import { type MessageName, type MessageVariables, messageLife, messages } from './model/messages.js';
import { createMessageStore, type MessageStore } from './model/store.js';
import { createChannels } from './sending/channels.js';
import { createDispatch } from './sending/dispatch.js';
import { createMessageMetrics, type MessageMetrics } from './sending/metrics.js';
import { createTestMessage } from './sending/test-message.js';
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

/** The courier service. */
export interface Courier {
  /** Stores a message, which is sent after the commit, or kept if there is no mail server or gateway. */
  send<M extends MessageName>(unit: Unit, project: Project, outgoing: OutgoingMessage<M>): void;
  /** Sends a test message at once. */
  test(message: 'test' | 'phone-test', to: string, locale: string): Promise<SendResult>;
  readonly erase: EraseMessages;
  readonly mailbox: Mailbox;
  readonly mailboxAccess: MailboxAccess;
  readonly worker: Worker;
  readonly jobs: readonly Job[];
  /** Sends waiting messages now, after the clock was set. */
  settle(): Promise<void>;
}

interface Deps extends Pick<Runtime, 'random' | 'mailer' | 'sms'> {
  readonly store: MessageStore;
  readonly contents: Contents;
  readonly worker: Worker;
}

/** Queues messages to people in the unit that caused them, and sends them after the commit. Recipient and variables are sealed. */
export function createCourier(runtime: Runtime, projects: Projects): Courier {
  const { db, sql, log, random, mailer, sms } = runtime;
  const metrics = createMessageMetrics(runtime);
  const store = createMessageStore(sql);
  const contents = createContents(runtime);
  const texts = createTexts(runtime.templates, ({ file, line, message }) =>
    log.error('courier.template.faulty', { file, line, reason: message }),
  );
  const needs = { projects, contents, texts };
  const dispatch = createDispatch(runtime, store, createChannels(runtime, needs), metrics);
  const worker = createWorker({
    round: async (again) => {
      await dispatch.begin(again);
      return false;
    },
    idle: dispatch.idle,
    onTrouble: (error) => log.error('courier.failed', { error }),
  });
  runtime.metrics.beforeRender(() => measureBacklog(runtime, store, metrics));
  const deps: Deps = { random, mailer, sms, store, contents, worker };
  return {
    send: (unit, project, outgoing) => send(deps, unit, project, outgoing),
    test: createTestMessage(runtime, texts),
    erase: createMessageErasure(runtime, store, contents),
    mailbox: createMailbox(runtime, store, needs),
    mailboxAccess: createMailboxAccess(runtime),
    worker,
    jobs: createCourierJobs(runtime, store, dispatch.sendAll),
    settle: async () => {
      const by = { projectId: null, actor: { kind: 'job', id: 'clock.settle' }, requestId: '' };
      await db.work(by, (unit) => unit.run(store.bringForward(unit.now)));
    },
  };
}

async function measureBacklog({ db, clock }: Runtime, store: MessageStore, metrics: MessageMetrics): Promise<void> {
  // Keeps the last values while the database is unavailable; another metric reports that.
  const rows = await db.all(store.backlog()).catch(() => undefined);
  const since = (oldest: unknown) => Math.max(0, (clock.now() - millisecondsOf(String(oldest))) / 1000);
  if (rows !== undefined)
    metrics.backlog(
      rows.map(({ channel, waiting, oldest }) => ({
        channel: String(channel),
        waiting: Number(waiting),
        oldestSeconds: since(oldest),
      })),
    );
}

function send<M extends MessageName>(deps: Deps, unit: Unit, project: Project, outgoing: OutgoingMessage<M>): void {
  const { random, mailer, sms, store, contents, worker } = deps;
  const { message, to, userId, name, locale, variables } = outgoing;
  const { channel } = messages[message];
  const life = messageLife[message];
  const isSent = { email: mailer, sms }[channel].isConfigured;
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
