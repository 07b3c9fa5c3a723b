import { isDeepStrictEqual } from 'node:util';
import type { Declaration } from '#src/contract/declaration.js';
import { platformTypes } from '#src/contract/platform.js';
import {
  attributesApi,
  attributeTypes,
  bucketsApi,
  changedAttributesApi,
  databasesApi,
  newAttributesApi,
  relationsApi,
  teamsApi,
  typeNames,
  webhooksApi,
} from '#src/features/index.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { conflictError, usageError } from '../terminal/exit.js';
import { type Change, labelOf } from './changes.js';
import { type ItemMembers, type Kind, keyMembers } from './items.js';
import type { ProjectCall } from './project-call.js';

/** A secret that was created, which is shown once. */
export interface MadeSecret {
  readonly kind: 'key' | 'webhook';
  readonly id: string;
  readonly secret: string;
}

/** Operations on items of one kind. */
interface Actions {
  /** Returns the secret of a new key or webhook. */
  create(call: ProjectCall, change: Change): Promise<MadeSecret | undefined>;
  update?(call: ProjectCall, change: Change): Promise<unknown>;
  remove?(call: ProjectCall, change: Change): Promise<unknown>;
  /** Members that cannot be changed. */
  readonly fixed?: readonly string[];
  /** What to do instead. */
  fix?(change: Change, projectId: string): string;
}

/** Carries out a change. Throws Failure, or CommandError. */
export async function applyChange(call: ProjectCall, change: Change): Promise<MadeSecret | undefined> {
  const { create, update, remove } = actions[change.kind];
  if (change.action === 'create') return create(call, change);
  if (change.action === 'update') await update?.(call, change);
  else await remove?.(call, change);
  return undefined;
}

/** Throws CommandError for a change that is not possible without a loss that the file does not ask for. */
export async function requirePossible(call: ProjectCall, change: Change): Promise<void> {
  const { projectId, runtime, features } = call;
  const [id = ''] = change.path;
  if (
    change.kind === 'team' &&
    change.action === 'create' &&
    (await features.takenIds.has(runtime.db, { projectId, kind: 'team', id }))
  )
    throw conflictError(
      'team_already_exists',
      `The file has the team ${id}. A deleted team had this id, and ids are never given again.`,
      'give the team another $id in the file',
    );
  if (change.kind === 'attribute' && change.action === 'create' && change.members.type !== 'relationship')
    knownType(change);
  const { fixed = [], fix } = actions[change.kind];
  const member = Object.keys(change.differences).find((one) => fixed.includes(one));
  if (member === undefined) return;
  const { from, to } = change.differences[member] ?? {};
  const message = `The ${labelOf(change)} has ${member} ${JSON.stringify(from ?? null)}, which cannot be changed to ${JSON.stringify(to ?? null)}.`;
  throw conflictError('change_impossible', message, fix?.(change, projectId) ?? '');
}

const [databaseOf, collectionOf] = [
  ([databaseId = '']: readonly string[]) => ({ databaseId }),
  ([databaseId = '', collectionId = '']: readonly string[]) => ({ databaseId, collectionId }),
];
const memberOf = (path: readonly string[]) => ({ ...collectionOf(path), key: path[2] ?? '' });
const only = ({ members, differences }: Change): ItemMembers =>
  Object.fromEntries(Object.keys(differences).map((member) => [member, members[member]]));
/** The API calls the member by another name in requests. */
const body = ({ $permissions, ...members }: ItemMembers): ItemMembers =>
  $permissions === undefined ? members : { ...members, permissions: $permissions };

/** The actions of a kind whose operations name its id by a member. */
function throughApi(api: Readonly<Record<'create' | 'update' | 'delete', Declaration>>, idMember: string): Actions {
  return {
    create: async (call, { path: [id], members }) =>
      void (await invokeAsOperator(call, api.create, { body: { [idMember]: id, ...body(members) } })),
    update: (call, change) =>
      invokeAsOperator(call, api.update, { params: { [idMember]: change.path[0] ?? '' }, body: body(only(change)) }),
    remove: (call, { path: [id = ''] }) => invokeAsOperator(call, api.delete, { params: { [idMember]: id } }),
  };
}

const typeOf = ({ members }: Change) => typeNames.find((name) => attributeTypes[name].path === members.type);
const withoutNull = (members: ItemMembers): ItemMembers =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

const actions: Readonly<Record<Kind, Actions>> = {
  project: {
    create: async ({ features, work }, { path: [id = ''], members: { name, ...settings } }) => {
      await work(id, (unit) => features.projects.create(unit, { id, name: String(name ?? id) }));
      if (Object.keys(settings).length > 0) await work(id, (unit) => features.projects.update(unit, id, { settings }));
      return undefined;
    },
    update: async ({ features, work }, change) => {
      const { name, ...settings } = only(change);
      const named = name === undefined ? {} : { name: String(name) };
      const [id = ''] = change.path;
      await work(id, (unit) => features.projects.update(unit, id, { settings, ...named }));
    },
  },
  platform: {
    create: async (call, { path: [word = '', hostname = ''], members }) => {
      const { projectId } = call;
      const type = platformTypes.find((one) => one === word) ?? 'web';
      const input = { id: call.runtime.random.id(), name: String(members.name ?? ''), type, hostname };
      await call.work(projectId, (unit) => call.features.projects.addPlatform(unit, projectId, input));
      return undefined;
    },
    update: async (call, { path: [, hostname = ''], members }) => {
      const { projectId } = call;
      const platform = await platformAt(call, projectId, hostname);
      const input = { name: String(members.name), type: platform.type, hostname };
      await call.work(projectId, (unit) => call.features.projects.updatePlatform(unit, projectId, platform.id, input));
    },
    remove: async (call, { path: [, hostname = ''] }) => {
      const { projectId } = call;
      const { id } = await platformAt(call, projectId, hostname);
      await call.work(projectId, (unit) => call.features.projects.removePlatform(unit, projectId, id));
    },
  },
  key: {
    fixed: ['scopes', 'expire'],
    fix: ({ path: [name = ''] }, id) =>
      `svc apikey revoke ${JSON.stringify(name)} --project ${id}, then apply the file again: it creates the key anew, with another secret`,
    create: async (call, { path: [name = ''], members: { scopes, expire } }) => {
      const { projectId } = call;
      const input = { name, scopes: scopes as string[], expire: expire === null ? null : String(expire) };
      const key = await call.work(projectId, (unit) => call.features.serverKeys.create(unit, projectId, input));
      return { kind: 'key', id: name, secret: key.secret };
    },
    // Removes the oldest of several equal keys with one name.
    remove: async (call, { path: [name = ''], members }) => {
      const { projectId, features, runtime } = call;
      const keys = await features.serverKeys.list(runtime.db, projectId);
      const found = keys
        .filter((key) => key.name === name && isDeepStrictEqual(keyMembers(key), members))
        .toSorted((one, other) => (one.createdAt < other.createdAt ? -1 : 1));
      const key = found[0] ?? (await features.serverKeys.find(runtime.db, name, projectId));
      await call.work(projectId, (unit) => features.serverKeys.revoke(unit, key.id));
    },
  },
  provider: {
    fixed: ['kind'],
    fix: ({ path: [key = ''] }, id) =>
      `svc provider remove ${key} --project ${id} also removes the identities of its users`,
    create: async (call, { path: [key = ''], members }) => {
      const { kind, name, enabled, ...given } = members as ItemMembers & { name?: string; enabled?: boolean };
      const owner = await call.findProject();
      const config = await call.features.providers.prepare(String(kind), given);
      const input = { key, kind: String(kind), name, enabled, config };
      await call.work(owner.id, (unit) => call.features.providers.add(unit, owner, input));
      return undefined;
    },
    update: async (call, change) => {
      const { name, enabled, ...given } = only(change) as ItemMembers & { name?: string; enabled?: boolean };
      const [key = ''] = change.path;
      const owner = await call.findProject();
      const { kind, config: before } = await call.features.providers.get(call.runtime.db, owner, key);
      const config = await call.features.providers.prepare(kind, given, before);
      const input = { name, enabled, config: Object.keys(config).length === 0 ? undefined : config };
      await call.work(owner.id, (unit) => call.features.providers.update(unit, owner, key, input));
    },
    remove: async (call, { path: [key = ''] }) => {
      const owner = await call.findProject();
      await call.work(owner.id, (unit) => call.features.providers.remove(unit, owner, key));
    },
  },
  team: throughApi(teamsApi, 'teamId'),
  database: throughApi(databasesApi, 'databaseId'),
  collection: {
    create: async (call, { path, members }) => {
      const input = { params: databaseOf(path), body: { collectionId: path[1], ...body(members) } };
      return void (await invokeAsOperator(call, databasesApi.createCollection, input));
    },
    update: (call, change) =>
      invokeAsOperator(call, databasesApi.updateCollection, {
        params: collectionOf(change.path),
        body: body(only(change)),
      }),
    remove: (call, { path }) => invokeAsOperator(call, databasesApi.deleteCollection, { params: collectionOf(path) }),
  },
  attribute: {
    fixed: ['type', 'array', 'encrypt', 'relatedCollection', 'relationType', 'twoWay', 'twoWayKey'],
    fix: ({ path: [databaseId, collectionId, key] }, id) =>
      `svc collection remove-attribute ${collectionId} ${key} --database ${databaseId} --project ${id} removes its values too`,
    create: async (call, change) => {
      const { type, relatedCollection, relationType, ...members } = withoutNull(change.members);
      const params = collectionOf(change.path);
      const key = change.path[2];
      if (type === 'relationship') {
        const relation = { ...members, key, relatedCollectionId: relatedCollection, type: relationType };
        return void (await invokeAsOperator(call, relationsApi.create, { params, body: relation }));
      }
      const { encrypt, ...plain } = members;
      const given = { ...plain, key, ...(encrypt === true ? { encrypt } : {}) };
      return void (await invokeAsOperator(call, newAttributesApi[knownType(change)], { params, body: given }));
    },
    update: async (call, change) => {
      const params = memberOf(change.path);
      const { onDelete, required, default: value = null, size, min, max, elements } = change.members;
      if (change.members.type === 'relationship')
        return void (await invokeAsOperator(call, relationsApi.update, { params, body: { onDelete } }));
      const type = knownType(change);
      const bounds = Object.entries({ size, min, max, elements }).filter(
        ([name, one]) => one !== undefined && name in attributeTypes[type].options,
      );
      const changed = { required, default: value, ...Object.fromEntries(bounds) };
      await invokeAsOperator(call, changedAttributesApi[type], { params, body: changed });
    },
    remove: (call, { path }) => invokeAsOperator(call, attributesApi.delete, { params: memberOf(path) }),
  },
  index: {
    create: createIndex,
    // An index holds no values of its own: another one takes its place.
    update: async (call, change) => {
      await removeIndex(call, change);
      await createIndex(call, change);
    },
    remove: removeIndex,
  },
  bucket: throughApi(bucketsApi, 'bucketId'),
  webhook: {
    ...throughApi(webhooksApi, 'webhookId'),
    create: async (call, { path: [webhookId = ''], members }) => {
      const made = await invokeAsOperator(call, webhooksApi.create, { body: { webhookId, ...members } });
      return { kind: 'webhook', id: webhookId, secret: made.secret };
    },
    update: (call, { path: [webhookId = ''], members }) =>
      invokeAsOperator(call, webhooksApi.update, { params: { webhookId }, body: members }),
  },
};

async function createIndex(call: ProjectCall, { path, members }: Change): Promise<undefined> {
  const index = { ...members, key: path[2] };
  await invokeAsOperator(call, attributesApi.createIndex, { params: collectionOf(path), body: index });
}

function removeIndex(call: ProjectCall, { path }: Change): Promise<unknown> {
  return invokeAsOperator(call, attributesApi.deleteIndex, { params: memberOf(path) });
}

async function platformAt({ runtime, features }: ProjectCall, projectId: string, hostname: string) {
  const platforms = await features.projects.platforms(runtime.db, projectId);
  const platform = platforms.find((one) => one.hostname === hostname);
  if (platform === undefined) throw usageError(`There is no platform ${hostname}.`);
  return platform;
}

function knownType(change: Change) {
  const type = typeOf(change);
  if (type !== undefined) return type;
  const paths = typeNames.map((name) => attributeTypes[name].path);
  throw usageError(
    `The ${labelOf(change)} has the unknown type ${String(change.members.type)}.`,
    `types are ${paths.join(', ')} and relationship`,
  );
}
