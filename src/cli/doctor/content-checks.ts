import type { Appliance } from '#src/appliance.js';
import { auditLimits } from '#src/contract/limits.js';
import { FileStoreError } from '#src/platform/file-store/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { lostFilesDirectory } from '../installation/files-directory.js';
import { count } from '../terminal/count.js';
import { shellWord } from '../terminal/exit.js';
import { backupFindings, placeFindings } from './backup-checks.js';
import type { Check } from './check.js';
import { type DoctorFinding, found } from './finding.js';

/** Maximum number of findings listed per kind. The others appear in the next run. */
const named = 10;
/** Objects of the file store checked in each direction. */
const objects = 1000;
/** A running server starts due deliveries within seconds. */
const behindSeconds = 300;
/** By then two retries have also failed. */
const failingMs = 900_000;
/** Fewer failures may be mistyped addresses. */
const severalMails = 3;

const dayMs = 86_400_000;

/** Checks of the contents of the database. */
export const contentChecks: readonly Check<Appliance>[] = [
  { name: 'the jobs', alone: 'svc cron list', run: jobs },
  { name: 'the backups', alone: 'svc backup list', run: backupFindings },
  {
    name: 'the audit log',
    alone: 'svc audit verify',
    run: async ({ features }) => {
      const problem = await features.audit.verifyRecent();
      return problem === undefined
        ? []
        : [found('audit_broken', `The audit log was changed. ${problem}`, 'svc audit verify')];
    },
  },
  { name: 'the webhooks', alone: 'svc webhook list --project ID', run: webhooks },
  { name: 'the mails', alone: 'svc mail list', run: mails },
  {
    name: 'the signing keys',
    alone: 'svc keys status',
    run: async ({ features }) =>
      (await features.signingKeys.overdue())
        .slice(0, named)
        .map(({ projectId, alg, kid, signsFrom }) =>
          found(
            'signing_key_old',
            `The key ${kid} (${alg}) of the project ${projectId} signs since ${signsFrom}, and no successor is published.`,
            `svc keys rotate --project ${shellWord(projectId)}`,
          ),
        ),
  },
  {
    name: 'the teams',
    run: async ({ runtime, features }) =>
      (await features.teams.allWithoutOwner(runtime.db, named)).map(({ projectId, teamId }) =>
        found(
          'team_without_owner',
          `The team ${teamId} of the project ${projectId} has members and no owner: only server keys can change it.`,
          `svc team add ${shellWord(teamId)} USER --project ${shellWord(projectId)} --roles owner`,
        ),
      ),
  },
  { name: 'refused origins', alone: 'svc audit list --action requestsRefused', run: refusedOrigins },
  {
    name: 'slow queries',
    alone: 'svc collection advise',
    run: async ({ runtime, features }) =>
      (await features.scans.advise(runtime.db, {})).slice(0, named).map((scan) => {
        const place = `${scan.projectId}/${scan.databaseId}/${scan.collectionId}`;
        const message = `No index serves the list ${scan.list} of ${place}, which took up to ${scan.longestMs} ms.`;
        return found('query_slow', message, scan.command ?? (scan.note || 'svc collection advise'));
      }),
  },
];

/** Checks that contact servers other than the database. */
export const remoteChecks: readonly Check<Appliance>[] = [
  { name: 'the mail server', alone: 'svc mail test --to ADDRESS', run: mailServer },
  { name: 'the files', alone: 'svc files check', run: files },
  { name: 'the place of backups', alone: 'svc backup list', run: placeFindings },
];

async function jobs({ features }: Appliance): Promise<DoctorFinding[]> {
  const failed = (await features.jobs.list()).flatMap(({ name, lastError }) =>
    lastError === null || name === features.backups.job
      ? []
      : [found('job_failed', `The last run of the job ${name} failed: ${lastError}`, `svc cron run ${name}`)],
  );
  const abandoned = (await features.jobs.abandoned()).map((name) =>
    found(
      'job_abandoned',
      `The process that ran the job ${name} is gone, and no other has run it.`,
      `svc cron run ${name}`,
    ),
  );
  return [...failed, ...abandoned];
}

async function webhooks({ features }: Appliance): Promise<DoctorFinding[]> {
  const failing = (await features.webhooks.failing(failingMs, named)).map((webhook) => {
    const { projectId, id, enabled, failingSince, logs } = webhook;
    const [called, place] = [
      `The webhook ${id} of the project ${projectId}`,
      `${shellWord(id)} --project ${shellWord(projectId)}`,
    ];
    const history = `failed since ${failingSince}, the last time with: ${logs}.`;
    return enabled
      ? found('webhook_failing', `${called} has ${history}`, `svc webhook test ${place}`)
      : found(
          'webhook_disabled',
          `${called} is disabled. It has ${history}`,
          `svc webhook update ${place} --enabled on`,
        );
  });
  const { waiting, dueSeconds } = await features.webhooks.backlog();
  if (dueSeconds < behindSeconds) return failing;
  const message = `Events wait for webhooks since ${Math.round(dueSeconds)} s (deliveries that wait: ${waiting}).`;
  return [
    ...failing,
    found('webhooks_behind', message, 'svc serve, unless a server runs; its log tells what keeps it'),
  ];
}

async function mails({ runtime, features }: Appliance): Promise<DoctorFinding[]> {
  const { failed, sent, lastError } = await features.courier.mailbox.lastHour(runtime.db);
  if (failed < severalMails || sent > 0) return [];
  const message = `Of the mails of the last hour ${failed} have failed and none was sent. The last error: ${lastError}.`;
  const fix =
    'look at what the mail server demands of the sender in SVC_MAIL_FROM and of the login in SVC_SMTP_URL; svc mail test --to ADDRESS shows its answer, svc mail list the mails';
  return [found('mails_failing', message, fix)];
}

async function mailServer({ runtime: { mailer } }: Appliance): Promise<DoctorFinding[]> {
  if (!mailer.isConfigured) return [];
  const fix = 'correct SVC_SMTP_URL, then svc mail test --to ADDRESS';
  const result = await mailer.probe();
  if (result.ok) return [];
  if (!result.isAnswered) return [found('mail_unreachable', `The mail server cannot be used: ${result.error}.`, fix)];
  return [found('mail_refused', `The mail server refuses the service: ${result.error}.`, fix)];
}

async function files({ runtime: { config }, features }: Appliance): Promise<DoctorFinding[]> {
  try {
    const { missing, files: damaged, orphans } = await features.checkFiles(objects);
    const lostDirectory = missing.length > 0 ? lostFilesDirectory(config) : undefined;
    if (lostDirectory !== undefined) return [found('file_store_unusable', lostDirectory.message, lostDirectory.fix)];
    const [first] = damaged;
    const name = first === undefined ? missing[0] : `${first.projectId}/${first.bucketId}/${first.fileId}`;
    const lost = found(
      'files_missing',
      `The file store lacks the bytes of ${count(missing.length, 'object')}, such as that of ${name}.`,
      'restore them from a backup of the file store, or delete the files; svc files check lists them',
    );
    const unknown = found(
      'files_unknown',
      `The file store has ${count(orphans.length, 'object')} that no file names, such as ${orphans[0]}.`,
      'delete them from the file store; svc files check lists them',
    );
    return [...(missing.length > 0 ? [lost] : []), ...(orphans.length > 0 ? [unknown] : [])];
  } catch (error) {
    if (!(error instanceof FileStoreError)) throw error;
    const message = `The file store cannot be used: ${whyUnwritable(error.reason)}.`;
    return [found('file_store_unusable', message, 'svc config check')];
  }
}

/** Finds web origins that were refused within the last day and are still refused; at most `named`. */
async function refusedOrigins({ runtime, features }: Appliance): Promise<DoctorFinding[]> {
  const { db, clock } = runtime;
  const { audit, projects } = features;
  const since = instantOf(clock.now() - dayMs);
  const { entries } = await audit.list({ action: 'requestsRefused', since }, { limit: auditLimits.page });
  const existing = new Map((await projects.list(db)).map((project) => [project.id, project]));
  const isRefused = async (origin: string, projectId: string | null): Promise<boolean> => {
    if (projectId === null) return !(await projects.anyAllowsOrigin(db, origin));
    const project = existing.get(projectId);
    return project !== undefined && !projects.allowsOrigin(project, origin);
  };
  const findings = new Map<string, DoctorFinding>();
  for (const { row } of entries) {
    const { projectId, at, data } = row;
    const { origin }: { readonly origin?: string } = JSON.parse(data);
    if (origin === undefined || findings.has(`${projectId} ${origin}`)) continue;
    if (findings.size === named) break;
    if (!(await isRefused(origin, projectId))) continue;
    const place = projectId === null ? 'every project' : `the project ${projectId}`;
    const message = `The origin ${origin} is refused by ${place}, the last time at ${at}.`;
    findings.set(`${projectId} ${origin}`, found('origin_refused', message, projects.adviceFor(origin, projectId)));
  }
  return [...findings.values()];
}
