import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Project } from '#src/contract/project.js';
import { membershipsApi, shownAttributes, teamsApi } from '#src/features/index.js';
import { parseJson, printJson } from '#src/platform/text/json.js';
import { wholeList } from '../line/page.js';
import { toAppwriteFile } from '../project-file/appwrite.js';
import type { ProjectFile } from '../project-file/file.js';
import { type ProjectCall, runIn } from '../project-file/project-call.js';
import { readProject } from '../project-file/state.js';
import type { Progress } from '../terminal/progress.js';
import { writtenFile } from '../terminal/written-file.js';
import { copyProgram, openDirectory } from './directory.js';
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
  await writeText(join(directory, 'appwrite.config.json'), `${printJson(file, 2)}\n`);
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

async function writeText(file: string, text: string): Promise<void> {
  const target = await writtenFile(file);
  await target.append(text);
  await target.end();
}

/** Writes requests as NDJSON, and counts them by the kind in the name of the file. */
async function writeRequests(run: Run, name: string, requests: AsyncIterable<ApiRequest[]>): Promise<void> {
  const target = await writtenFile(join(run.directory, `${name}.ndjson`));
  const kind = name.slice(2);
  try {
    for await (const some of requests) {
      run.signal.throwIfAborted();
      await target.append(some.map((request) => `${printJson(request)}\n`).join(''));
      run.progress.show(`${run.counts.get(kind) ?? 0} ${kind}`);
    }
    await target.end();
  } catch (error) {
    target.giveUp();
    throw error;
  }
}

function counted({ counts }: Run, kind: string, added: number): void {
  counts.set(kind, (counts.get(kind) ?? 0) + added);
}

async function* teams(run: Run): AsyncGenerator<ApiRequest[]> {
  const { teams: found } = await runIn(run.call, teamsApi.list, { query: { ...wholeList, search: '' } });
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
      const { memberships: page } = await runIn(run.call, membershipsApi.list, { params: { teamId }, query });
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
  const documents = await writtenFile(join(run.directory, '4-documents.ndjson'));
  const relationships = await writtenFile(join(run.directory, '5-relationships.ndjson'));
  const linesOf = (requests: readonly ApiRequest[]) => requests.map((request) => `${printJson(request)}\n`).join('');
  let line = 0;
  try {
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
      await documents.append(linesOf(created));
      await relationships.append(linesOf(links));
      line += page.length;
      counted(run, 'documents', page.length);
      counted(run, 'relationships', links.length);
      run.progress.show(`${line} documents`);
    }
    await documents.end();
    await relationships.end();
  } catch (error) {
    documents.giveUp();
    relationships.giveUp();
    throw error;
  }
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
  const records = await writtenFile(join(directory, 'files.ndjson'));
  try {
    for (const { $id: bucketId } of schema.buckets ?? []) {
      mkdirSync(join(directory, 'files', bucketId), { recursive: true, mode: 0o700 });
      for await (const { file, open } of call.features.fileTransfer.exported({ project, bucketId })) {
        signal.throwIfAborted();
        const { id, name, permissions, mimeType, signature, sizeOriginal, createdAt, updatedAt } = file;
        await writeBytes(join(directory, 'files', bucketId, id), await open());
        const sent = sentPermissions(permissions, run.lost);
        const record = { bucketId, fileId: id, name, permissions: sent, mimeType, signature, sizeOriginal };
        await records.append(`${printJson({ ...record, $createdAt: createdAt, $updatedAt: updatedAt })}\n`);
        counted(run, 'files', 1);
        progress.show(`${run.counts.get('files')} files`);
      }
    }
    await records.end();
  } catch (error) {
    records.giveUp();
    throw error;
  }
}

async function writeBytes(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const target = await writtenFile(path);
  try {
    for await (const chunk of bytes) await target.append(chunk);
    await target.end();
  } catch (error) {
    target.giveUp();
    throw error;
  }
}
