import { Failure } from '#src/contract/errors.js';
import { teamsApi } from '#src/features/index.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { applyChange, type MadeSecret, requirePossible } from '../project-file/apply.js';
import { type Change, changesOf, labelOf } from '../project-file/changes.js';
import type { ProjectFile } from '../project-file/file.js';
import { type Item, itemsOf } from '../project-file/items.js';
import type { ProjectCall } from '../project-file/project-call.js';
import { readProject } from '../project-file/state.js';
import { CommandError } from '../terminal/exit.js';
import { storedTime } from '../user-records/index.js';
import type { ImportSource, Unsupported } from './source.js';
import type { KindTally } from './tally.js';

/** Plural nouns of items, as the counts name them. */
const nouns: Readonly<Record<string, string>> = { index: 'indexes' };

/**
 * Makes teams, databases, collections, attributes, indexes, buckets and webhooks of the project equal to the source. Items that the source
 * does not have stay. A change that cannot be made counts as failed. Returns the secrets of new webhooks, and attributes that only the
 * project has.
 */
export async function importSchema(
  call: ProjectCall,
  schema: ProjectFile,
  teamTimes: ImportSource['teamTimes'],
  tally: KindTally,
  { dryRun, signal }: { readonly dryRun: boolean; readonly signal: AbortSignal },
): Promise<{ readonly secrets: MadeSecret[]; readonly onlyHere: Unsupported[] }> {
  const wanted = itemsOf(schema)
    .filter(({ kind }) => kind !== 'project')
    .map(withoutSwitch);
  const teams = await presentTeams(call, wanted);
  const present = [...teams, ...itemsOf(await readProject(call, await call.findProject(), false))];
  const changes = new Map(changesOf(wanted, present, false).map((change) => [labelOf(change), change]));
  const secrets: MadeSecret[] = [];
  for (const item of wanted) {
    if (signal.aborted) break;
    const change = changes.get(labelOf(item));
    const noun = nouns[item.kind] ?? `${item.kind}s`;
    if (change === undefined) {
      tally.add(noun, 'skipped');
      continue;
    }
    try {
      await requirePossible(call, change);
      const secret = dryRun ? undefined : await make(call, change, teamTimes);
      if (secret !== undefined) secrets.push(secret);
      tally.add(noun, change.action === 'create' ? 'created' : 'changed');
    } catch (error) {
      if (!(error instanceof Failure || error instanceof CommandError)) throw error;
      await tally.fail(noun, item.path.join('/'), error.type, error.message);
    }
  }
  return { secrets, onlyHere: attributesOnlyHere(wanted, present) };
}

/** Attributes of collections of the source that the source does not have. Documents keep their values. */
function attributesOnlyHere(wanted: readonly Item[], present: readonly Item[]): Unsupported[] {
  const known = new Set(wanted.map(labelOf));
  const isOnlyHere = (item: Item) =>
    item.kind === 'attribute' &&
    item.members.type !== 'relationship' &&
    known.has(labelOf({ kind: 'collection', path: item.path.slice(0, 2) })) &&
    !known.has(labelOf(item));
  return present.filter(isOnlyHere).map(({ path: [databaseId, collectionId, key] }) => ({
    kind: 'attribute only here',
    count: 1,
    reason: `${databaseId}/${collectionId}/${key}: the source does not have it, and documents keep its values. svc collection remove-attribute ${collectionId} ${key} --database ${databaseId} removes it.`,
  }));
}

/** Webhooks that exist stay on or off as they are. */
function withoutSwitch(item: Item): Item {
  if (item.kind !== 'webhook') return item;
  const { enabled: _, ...members } = item.members;
  return { ...item, members };
}

/** Makes a change. New webhooks are off, so that receivers get no events of the import, and new teams keep their time. */
async function make(call: ProjectCall, change: Change, teamTimes: ImportSource['teamTimes']) {
  const { kind, action, path, members } = change;
  const [id = ''] = path;
  const createdAt = storedTime(teamTimes?.get(id));
  if (kind === 'team' && action === 'create' && createdAt !== undefined) {
    const project = await call.findProject();
    const team = { id, name: String(members.name), createdAt };
    await call.features.membershipImport.createTeam(call.auditContext(project.id), project, team);
    return undefined;
  }
  const isNewWebhook = kind === 'webhook' && action === 'create';
  return applyChange(call, isNewWebhook ? { ...change, members: { ...members, enabled: false } } : change);
}

/** Reads teams one by one, because a project can have more of them than a list returns. */
async function presentTeams(call: ProjectCall, wanted: readonly Item[]): Promise<Item[]> {
  const found: Item[] = [];
  for (const { kind, path } of wanted) {
    if (kind !== 'team') continue;
    const [teamId = ''] = path;
    try {
      const { name } = await invokeAsOperator(call, teamsApi.get, { params: { teamId } });
      found.push({ kind, path, members: { name } });
    } catch (error) {
      if (!(error instanceof Failure && error.type === 'team_not_found')) throw error;
    }
  }
  return found;
}
