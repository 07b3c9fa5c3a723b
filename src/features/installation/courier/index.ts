import type { Project } from '#src/contract/project.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { createWorker } from '#src/platform/worker.js';
import type { Projects } from '../projects/index.js';
import { createContents } from './content.js';
import { createMessageErasure } from './erasure/index.js';
import { createCourierJobs } from './jobs.js';
import { createMailbox } from './mailbox.js';
import { type MessageName, type MessageVariables, messageLife, messages } from './messages.js';
import { createChannels } from './sending/channels.js';
import { createDispatch } from './sending/dispatch.js';
import { createMessageMetrics } from './sending/metrics.js';
import { createTestMessage } from './sending/test-message.js';
import { createMessageStore } from './store.js';
import { createTexts } from './texts/texts.js';

export { type MessageName, type MessageVariables, messageNames, sampleVariables } from './messages.js';
export { sealedMessages } from './store.js';
export { lintTexts } from './texts/lint.js';
export { createTexts } from './texts/texts.js';
export type { ListedMail, ShownMail } from './view.js';

/** A message to a person. */
interface OutgoingMessage<M extends MessageName> {
  readonly message: M;
  /** The address, or the number. */
  readonly to: string;
  /** Null where there is no such user yet. */
  readonly userId: string | null;
  /** How the person is called; may be empty. */
  readonly name: string;
  /** The language asked for, as a BCP 47 tag; null where nobody said one. */
  readonly locale: string | null;
  readonly variables: MessageVariables<M>;
}

/** Leaves messages to people as rows of the unit that caused them, and sends them: recipient and variables are sealed. */
export function createCourier(runtime: Runtime, projects: Projects) {
  const { db, sql, log, clock, mailer, sms } = runtime;
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
  runtime.metrics.beforeRender(async () => {
    // While the database is away the last values stand; that it is away is a metric of its own.
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
  });
  return {
    send: <M extends MessageName>(unit: Unit, project: Project, outgoing: OutgoingMessage<M>): void => {
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
        ...contents.seal(project, runtime.random.id(), to, {
          project: project.settings['pages.name'] ?? project.name,
          name,
          ...variables,
        }),
        state: isSent ? 'pending' : 'kept',
        expire: life === undefined ? null : instantOf(millisecondsOf(unit.now) + life * 1000),
      });
      if (isSent) unit.afterCommit(() => worker.nudge());
    },
    test: createTestMessage(runtime, texts),
    erase: createMessageErasure(runtime, store, contents),
    mailbox: createMailbox(runtime, store, needs),
    worker,
    jobs: createCourierJobs(runtime, store, dispatch.sendAll),
    settle: async () => {
      const by = { projectId: null, actor: { kind: 'job', id: 'clock.settle' }, requestId: '' };
      await db.work(by, (unit) => unit.run(store.bringForward(unit.now)));
    },
  };
}

/** The courier service. */
export type Courier = ReturnType<typeof createCourier>;
