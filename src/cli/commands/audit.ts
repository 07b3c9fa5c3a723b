import { setTimeout as sleep } from 'node:timers/promises';
import { events } from '#src/contract/events.js';
import { similar } from '#src/contract/similar.js';
import { type AuditEntry, BrokenChainError, recordedOf, toAuditEntry } from '#src/features/index.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { type ApplianceCall, command, optionalProject } from '../line/command.js';
import { gotten, pageLimit, timeOrAge, validFlag, wholeNumber } from '../line/input.js';
import { inGroup } from '../line/options.js';
import { failedError, usageError } from '../terminal/exit.js';
import { endingSignal } from '../terminal/interrupt.js';
import { writeOut } from '../terminal/output.js';
import { columns, entryLine } from '../terminal/table.js';
import { verify } from './audit-verify.js';

const projectOption = optionalProject('only entries of this project');
const followMs = 1000;

const list = command({
  path: 'audit list',
  summary: 'Lists entries of the audit log, newest first',
  options: [
    projectOption,
    ...inGroup('Filters', [
      { flag: '--actor', value: 'ID', summary: 'only what this actor did' },
      { flag: '--action', value: 'NAME', summary: 'only entries with this action' },
      { flag: '--resource', value: 'PATH', summary: 'only entries about this resource, such as users/bob' },
      { flag: '--since', value: 'TIME', summary: 'only entries since a time or an age, such as 2d' },
      { flag: '--until', value: 'TIME', summary: 'only entries before a time or an age' },
    ]),
    ...inGroup('Page', [
      { flag: '--limit', value: 'N', summary: 'maximum number of entries (default: 50)' },
      { flag: '--before', value: 'SEQ', summary: 'only entries before this number' },
    ]),
  ],
  examples: ['svc audit list', 'svc audit list --project shop --action projectCreated --limit 5 --json'],
  run: async (call) => {
    const { args, features, runtime } = call;
    const projectId = await projectOf(call);
    await sealWaiting(call);
    const before = args.text('--before') && wholeNumber(args, '--before', 0, Number.MAX_SAFE_INTEGER);
    requireAction(args.text('--action'));
    const filter = {
      projectId,
      actor: args.text('--actor'),
      action: args.text('--action'),
      resource: args.text('--resource'),
      since: validFlag(args, '--since', timeOrAge(runtime.clock)),
      until: validFlag(args, '--until', timeOrAge(runtime.clock)),
    };
    const limit = pageLimit(args, 50, 1000);
    const entries: AuditEntry[] = [];
    // A page also ends after a maximum number of entries that do not match.
    for (let next = before || undefined; entries.length < limit; ) {
      const page = await features.audit.list(filter, { before: next, limit: limit - entries.length });
      entries.push(...page.entries);
      if (page.next === null) break;
      next = page.next;
    }
    if (entries.length === 0) noteNone(call);
    return {
      value: { entries: entries.map(({ row, subjects }) => toAuditEntry(row, subjects)) },
      text: columns(
        ['SEQ', 'TIME', 'ACTOR', 'ACTION', 'RESOURCE', 'PROJECT', 'REQUEST'],
        entries.map(({ row }) => [
          String(row.seq),
          row.at,
          actorOf(row),
          row.action,
          row.resource,
          row.projectId ?? '-',
          row.requestId || '-',
        ]),
        { whole: ['ACTION', 'REQUEST'], optional: ['REQUEST', 'PROJECT'] },
      ),
    };
  },
});

const tail = command({
  path: 'audit tail',
  summary: 'Prints the newest entries of the audit log, then new ones as they come; with --json one JSON object a line',
  options: [
    projectOption,
    { flag: '--lines', value: 'N', summary: 'number of entries to begin with (default: 10)' },
    { flag: '--no-follow', summary: 'do not wait for new entries' },
  ],
  examples: ['svc audit tail --no-follow', 'svc audit tail --project shop --lines 1 --no-follow --json'],
  run: async (call) => {
    const { args, features, output } = call;
    const projectId = await projectOf(call);
    await sealWaiting(call);
    const limit = wholeNumber(args, '--lines', 10, 1000);
    const print = ({ row, subjects }: AuditEntry) =>
      output.entry({
        value: toAuditEntry(row, subjects),
        text: entryLine([String(row.seq), row.at, actorOf(row), row.action, row.resource]),
      });
    const signal = args.isSet('--no-follow') ? undefined : endingSignal();
    let seq = await features.audit.headSeq();
    const first = limit === 0 ? [] : (await features.audit.list({ projectId }, { before: seq + 1, limit })).entries;
    for (const entry of [...first].reverse()) await print(entry);
    while (signal?.aborted === false) {
      await sealWaiting(call);
      const page = await features.audit.after(projectId, seq);
      for (const entry of page.entries) await print(entry);
      if (page.seq === seq) await sleep(followMs, undefined, { signal }).catch(() => {});
      seq = page.seq;
    }
    return undefined;
  },
});

const exportLog = command({
  path: 'audit export',
  summary: 'Prints the audit log as one JSON object a line, to be verified elsewhere with svc audit verify --file',
  options: [optionalProject('entries of this project; of others only what continues the chain')],
  examples: ['svc audit export > audit.ndjson', 'svc audit export --project shop > shop.ndjson'],
  run: async (call) => {
    const projectId = await projectOf(call);
    await sealWaiting(call);
    for await (const line of call.features.audit.exported(projectId)) await writeOut(`${line}\n`);
    return undefined;
  },
});

/** `svc audit …` */
export const auditCommands = [list, tail, exportLog, verify];

/** Throws if no entry can have this action. Otherwise an empty list would hide the typo. */
function requireAction(action: string | undefined): void {
  const actions = Object.keys(events);
  if (action === undefined || actions.includes(action)) return;
  // Actions on users are named after accounts.
  const near = actions.find((one) => one === action.replace(/^user/, 'account')) ?? similar(action, actions);
  throw usageError(
    `--action must be an action of the audit log${gotten(action)}.`,
    near === undefined ? 'docs/events.md lists the actions' : `did you mean ${near}?`,
  );
}

/** Prints a note for an empty list, because a typo in an actor or a resource gives the same result. */
function noteNone({ args, output }: ApplianceCall): void {
  const given = (['--actor', '--action', '--resource', '--since', '--until'] as const).filter((flag) =>
    args.text(flag),
  );
  if (given.length === 0) return;
  const actor = given.includes('--actor') ? ' An actor is the id of a user or of a server key, or cli.' : '';
  output.note(`No entry matches ${given.map((flag) => `${flag} ${args.text(flag)}`).join(' and ')}.${actor}`);
}

/** The actor and, for a JWT, the server key that acted for it. */
function actorOf({ actorKind, actorId, data }: AuditEntry['row']): string {
  const { act } = recordedOf(data);
  const actor = actorId === '' ? actorKind : `${actorKind} ${actorId}`;
  return typeof act === 'string' ? `${actor} by ${act.replace(':', ' ')}` : actor;
}

/** The requested project, which exists or was deleted. */
async function projectOf({ args, runtime, features }: ApplianceCall): Promise<string | undefined> {
  const id = args.text('--project');
  if (id === undefined || (await features.audit.hasProject(id))) return id;
  if (await features.projects.wasDeleted(runtime.db, id)) return id;
  return (await features.projects.get(runtime.db, id)).id;
}

/** Seals waiting entries, because no server may be running. If the database is read-only, sealed entries can still be read. */
async function sealWaiting({ features, output }: ApplianceCall): Promise<void> {
  try {
    await features.audit.seal();
  } catch (error) {
    if (error instanceof DatabaseError && (error.kind === 'notWritable' || error.kind === 'busy')) {
      output.note('The database takes no writes: entries that are not sealed yet are left out.');
      return;
    }
    if (!(error instanceof BrokenChainError)) throw error;
    const message = 'The head of the audit log was changed, so new entries cannot be sealed.';
    throw failedError('audit_broken', message, 'svc audit verify');
  }
}
