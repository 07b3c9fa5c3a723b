import { chmodSync, copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Project } from '#src/contract/project.js';
import { membershipsApi, shownAttributes, teamsApi } from '#src/features/index.js';
import { packageFile } from '#src/platform/runtime/package-root.js';
import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { parseJson, printJson } from '#src/platform/text/json.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { wholeList } from '../line/page.js';
import { toAppwriteFile } from '../project-file/appwrite.js';
import type { ProjectFile } from '../project-file/file.js';
import type { ProjectCall } from '../project-file/project-call.js';
import { readProject } from '../project-file/state.js';
import { CommandError, failedError, usageError } from '../terminal/exit.js';
import type { Progress } from '../terminal/progress.js';
import { writeWhole } from '../terminal/written-file.js';
import {
  type ApiRequest,
  documentRequest,
  type LostParts,
  relationRequest,
  sentPermissions,
  userRequests,
  webhookRequest,
} from './requests.js';

/** Counts of exported records and of parts that the API does not take. */
interface ExportReport {
  readonly kinds: readonly { readonly kind: string; readonly count: number }[];
  readonly unsupported: readonly { readonly kind: string; readonly count: number; readonly reason: string }[];
}

interface CollectionPlace {
  readonly databaseId: string;
  readonly collectionId: string;
}

/** The state of an export. */
interface Run {
  readonly call: ProjectCall;
  readonly project: Project;
  readonly directory: string;
  readonly schema: ProjectFile;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly counts: Map<string, number>;
  readonly lost: LostParts;
}

/** Writes a project as requests to the API of Appwrite, with its schema, its files and a program that sends them. */
export async function exportToAppwrite(
  call: ProjectCall,
  project: Project,
  directory: string,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
): Promise<ExportReport> {
  openDirectory(directory);
  const schema = await readProject(call, project);
  const lost: LostParts = { passwords: 0, authenticatorApps: 0, identities: 0, permissions: 0 };
  const run: Run = { call, project, directory, schema, progress, signal, counts: new Map(), lost };
  const file = toAppwriteFile(withSentPermissions(schema, lost));
  await writeWhole(join(directory, 'appwrite.config.json'), (append) => append(`${printJson(file, 2)}\n`));
  await writeRequests(run, '1-teams', teams(run));
  await writeRequests(run, '2-users', users(run));
  const invited = { count: 0 };
  await writeRequests(run, '3-memberships', memberships(run, invited));
  await writeDocuments(run);
  await writeRequests(run, '6-webhooks', webhooks(run));
  await writeFiles(run);
  copyProgram(directory);
  const kinds = [...run.counts].map(([kind, count]) => ({ kind, count }));
  return { kinds, unsupported: lostRows(lost, invited.count, schema) };
}

/** The schema without permissions that the receiver would not understand. */
function withSentPermissions(schema: ProjectFile, lost: LostParts): ProjectFile {
  const sent = <T extends { readonly $permissions?: readonly string[] | undefined }>(one: T) => ({
    ...one,
    $permissions: sentPermissions(one.$permissions ?? [], lost),
  });
  return {
    ...schema,
    databases: schema.databases?.map((one) => ({ ...one, collections: one.collections?.map(sent) })),
    buckets: schema.buckets?.map(sent),
  };
}

function lostRows(lost: LostParts, invitations: number, schema: ProjectFile) {
  const { passwords, authenticatorApps, identities, permissions } = lost;
  const rows = [
    ['passwords', passwords, 'Appwrite cannot verify these hashes. The users set a new password by a recovery link.'],
    ['authenticator apps', authenticatorApps, 'The API takes no secrets. The users enrol their app again.'],
    ['identities', identities, 'The API creates no identities. They are linked at the next login with the provider.'],
    [
      'permissions',
      permissions,
      'Permissions of a single member (member:ID): the API gives memberships other ids. Grant them to the user, or to a role of the team.',
    ],
    ['invitations', invitations, 'The API adds members at once. Invite these users again.'],
    ['providers', schema.providers?.length ?? 0, 'Set up the OAuth2 providers in the console of Appwrite.'],
    ['platforms', schema.platforms?.length ?? 0, 'Add the platforms in the console of Appwrite.'],
    ['keys', schema.keys?.length ?? 0, 'Create server keys in the console of Appwrite.'],
  ] as const;
  return rows.filter(([, count]) => count > 0).map(([kind, count, reason]) => ({ kind, count, reason }));
}

/** Writes requests as NDJSON, and counts them by the kind in the name of the file. */
async function writeRequests(run: Run, name: string, requests: AsyncIterable<ApiRequest[]>): Promise<void> {
  const kind = name.slice(2);
  await writeWhole(join(run.directory, `${name}.ndjson`), async (append) => {
    for await (const some of requests) {
      run.signal.throwIfAborted();
      await append(linesOf(some));
      run.progress.show(`${run.counts.get(kind) ?? 0} ${kind}`);
    }
  });
}

function linesOf(requests: readonly ApiRequest[]): string {
  return requests.map((request) => `${printJson(request)}\n`).join('');
}

function counted({ counts }: Run, kind: string, added: number): void {
  counts.set(kind, (counts.get(kind) ?? 0) + added);
}

async function* teams(run: Run): AsyncGenerator<ApiRequest[]> {
  const { teams: found } = await invokeAsOperator(run.call, teamsApi.list, { query: { ...wholeList, search: '' } });
  for (const { $id, name, prefs } of found) {
    counted(run, 'teams', 1);
    yield [
      { method: 'POST', path: '/teams', body: { teamId: $id, name } },
      ...(Object.keys(prefs).length === 0
        ? []
        : [{ method: 'PUT' as const, path: `/teams/${$id}/prefs`, body: { prefs } }]),
    ];
  }
}

async function* users(run: Run): AsyncGenerator<ApiRequest[]> {
  for await (const page of run.call.features.userTransfer.exported(run.project)) {
    counted(run, 'users', page.length);
    yield page.flatMap((user) => userRequests(user, run.lost));
  }
}

/** Members of a page. */
const membersOfPage = 500;

async function* memberships(run: Run, invited: { count: number }): AsyncGenerator<ApiRequest[]> {
  for (const { $id: teamId } of run.schema.teams ?? [])
    for (let after: string | undefined; ; ) {
      const queries = [
        { method: 'limit', values: [membersOfPage] },
        ...(after === undefined ? [] : [{ method: 'cursorAfter', values: [after] }]),
      ].map((query) => JSON.stringify(query));
      const query = { queries, search: '' };
      const { memberships: page } = await invokeAsOperator(run.call, membershipsApi.list, {
        params: { teamId },
        query,
      });
      const confirmed = page.filter(({ confirm }) => confirm);
      invited.count += page.length - confirmed.length;
      counted(run, 'memberships', confirmed.length);
      yield confirmed.map(({ userId, roles }) => ({
        method: 'POST',
        path: `/teams/${teamId}/memberships`,
        body: { userId, roles },
      }));
      after = page.at(-1)?.$id;
      if (page.length < membersOfPage) break;
    }
}

/** Pages of the documents of all collections, with the path of each collection. */
async function* pagesOfDocuments({ call, project, schema }: Run) {
  for (const { $id: databaseId, collections = [] } of schema.databases ?? [])
    for (const { $id: collectionId } of collections) {
      const path = `/databases/${databaseId}/collections/${collectionId}/documents`;
      const place = { project, databaseId, collectionId };
      for await (const { documents: page } of call.features.transfer.exported(place)) yield { path, place, page };
    }
}

/** Writes documents and, from the same pages, their relationships, which refer to the lines of the documents. */
async function writeDocuments(run: Run): Promise<void> {
  const fileOf = (name: string) => join(run.directory, `${name}.ndjson`);
  let line = 0;
  await writeWhole(fileOf('4-documents'), (appendDocuments) =>
    writeWhole(fileOf('5-relationships'), async (appendLinks) => {
      for await (const { path, place, page } of pagesOfDocuments(run)) {
        run.signal.throwIfAborted();
        const ids = page.map(({ id }) => id);
        const relations = await run.call.features.transfer.relationsOf(place, ids);
        const links = page.flatMap(
          ({ id, updatedAt }, at) => relationRequest(path, id, line + at, relations.get(id) ?? {}, updatedAt) ?? [],
        );
        const keys = await relationKeys(run, place);
        const created = page.map(({ data, ...one }) => {
          const values = Object.entries(parseJson(`{${data}}`) as object).filter(([key]) => !keys.has(key));
          return documentRequest(path, { ...one, data: Object.fromEntries(values) }, run.lost);
        });
        await appendDocuments(linesOf(created));
        await appendLinks(linesOf(links));
        line += page.length;
        counted(run, 'documents', page.length);
        counted(run, 'relationships', links.length);
        run.progress.show(`${line} documents`);
      }
    }),
  );
}

async function relationKeys({ call }: Run, { project, ...where }: { project: Project } & CollectionPlace) {
  const { databases } = call.features;
  const collection = await databases.getCollection(call.runtime.db, { projectId: project.id, ...where });
  return new Set(shownAttributes(collection).flatMap((one) => ('related' in one ? [one.key] : [])));
}

async function* webhooks(run: Run): AsyncGenerator<ApiRequest[]> {
  const found = run.schema.webhooks ?? [];
  counted(run, 'webhooks', found.length);
  yield found.map(webhookRequest);
}

/** Writes the bytes of files below `files`, and their records as NDJSON. */
async function writeFiles(run: Run): Promise<void> {
  const { call, project, directory, schema, progress, signal } = run;
  await writeWhole(join(directory, 'files.ndjson'), async (appendRecord) => {
    for (const { $id: bucketId } of schema.buckets ?? []) {
      mkdirSync(join(directory, 'files', bucketId), { recursive: true, mode: 0o700 });
      for await (const { file, open } of call.features.fileTransfer.exported({ project, bucketId })) {
        signal.throwIfAborted();
        const { id, name, permissions, mimeType, signature, sizeOriginal, createdAt, updatedAt } = file;
        const bytes = await open();
        await writeWhole(join(directory, 'files', bucketId, id), async (append) => {
          for await (const chunk of bytes) await append(chunk);
        });
        const sent = sentPermissions(permissions, run.lost);
        const record = { bucketId, fileId: id, name, permissions: sent, mimeType, signature, sizeOriginal };
        await appendRecord(`${printJson({ ...record, $createdAt: createdAt, $updatedAt: updatedAt })}\n`);
        counted(run, 'files', 1);
        progress.show(`${run.counts.get('files')} files`);
      }
    }
  });
}

/** Creates a directory that only its owner can read, or uses an empty one. Throws CommandError for one with files. */
function openDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (readdirSync(directory).length > 0)
      throw usageError(`${directory} has files in it.`, 'name a new or an empty directory');
    chmodSync(directory, 0o700);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const message = `${directory} cannot be written: ${whyUnwritable(error)}.`;
    throw failedError('file_not_written', message, 'name a directory that can be written');
  }
}

/** Copies the program that sends the export, and its description. */
function copyProgram(directory: string): void {
  for (const name of ['send.mjs', 'README.md']) {
    copyFileSync(packageFile(`templates/export/appwrite/${name}`), join(directory, name));
    chmodSync(join(directory, name), 0o600);
  }
}
