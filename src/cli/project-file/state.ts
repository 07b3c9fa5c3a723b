import { type Project, projectSettings } from '#src/contract/project.js';
import { attributeTypes, bucketsApi, databasesApi, teamsApi, typeNames, webhooksApi } from '#src/features/index.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { wholeList } from '../line/page.js';
import { failedError } from '../terminal/exit.js';
import type { FileAttribute, FileCollection, FileDatabase, ProjectFile } from './file.js';
import { isNoBound } from './items.js';
import type { ProjectCall } from './project-call.js';

interface WireAttribute {
  readonly key: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/**
 * Reads a project as a file, everything in the order of its ids. Lists that are empty are left out. Throws CommandError
 * `project_too_large` for lists that are longer than a file can have; teams can be left out.
 */
export async function readProject(call: ProjectCall, project: Project, withTeams = true): Promise<ProjectFile> {
  const { runtime, features } = call;
  const platforms = await features.projects.platforms(runtime.db, project.id);
  const keys = await features.serverKeys.list(runtime.db, project.id);
  const providers = await features.providers.list(runtime.db, project);
  const settings = Object.entries(project.settings).filter(([key, value]) => value !== defaultOf(key));
  const lists = {
    platforms: platforms.map(({ type, hostname, name }) => ({
      ...(type === 'web' ? { hostname } : { type, package: hostname }),
      ...(name === hostname ? {} : { name }),
    })),
    keys: keys.map(({ name, scopes, expire }) => ({
      name,
      scopes: [...scopes],
      ...(expire === null ? {} : { expire }),
    })),
    providers: providers.map(({ key, kind, name, enabled, config }) => ({
      key,
      kind,
      name,
      enabled,
      ...Object.fromEntries(
        Object.entries(config)
          .filter(([, value]) => isSet(value))
          .map(([member, value]) => [member, member === 'clientSecret' ? reference(key, 'CLIENT_SECRET') : value]),
      ),
    })),
    teams: withTeams ? await teamsOf(call) : [],
    databases: await databasesOf(call),
    buckets: await bucketsOf(call),
    webhooks: await webhooksOf(call),
  };
  const found = Object.entries(lists).filter(([, list]) => list.length > 0);
  const sorted = found.map(([name, list]) => [name, [...list].sort(byPlace)]);
  return {
    project: {
      $id: project.id,
      name: project.name,
      ...(settings.length === 0 ? {} : { settings: Object.fromEntries(settings) }),
    },
    ...(Object.fromEntries(sorted) as Omit<ProjectFile, 'project'>),
  };
}

/** The value of a setting that was not changed. */
function defaultOf(key: string): unknown {
  return projectSettings.shape[key as keyof typeof projectSettings.shape]?.parse(undefined);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}

/** The reference to a secret in an exported file, such as `env:GITHUB_CLIENT_SECRET`. */
function reference(id: string, word: string): string {
  return `env:${id.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_${word}`;
}

function byPlace(one: object, other: object): number {
  const [a, b] = [one, other].map((entry) => JSON.stringify(Object.values(entry).slice(0, 2))) as [string, string];
  return a < b ? -1 : a > b ? 1 : 0;
}

async function teamsOf(call: ProjectCall) {
  const { total, teams } = await invokeAsOperator(call, teamsApi.list, { query: { ...wholeList, search: '' } });
  requireWhole('teams', teams.length, total);
  return teams.map(({ $id, name }) => ({ $id, name }));
}

async function bucketsOf(call: ProjectCall) {
  const { total, buckets } = await invokeAsOperator(call, bucketsApi.list, { query: wholeList });
  requireWhole('buckets', buckets.length, total);
  return buckets.map((one) => ({
    $id: one.$id,
    name: one.name,
    enabled: one.enabled,
    fileSecurity: one.fileSecurity,
    $permissions: [...one.$permissions],
    maximumFileSize: one.maximumFileSize,
    allowedFileExtensions: [...one.allowedFileExtensions],
    compression: one.compression,
    encryption: one.encryption,
    transformations: one.transformations,
  }));
}

async function webhooksOf(call: ProjectCall) {
  const { total, webhooks } = await invokeAsOperator(call, webhooksApi.list, { query: wholeList });
  requireWhole('webhooks', webhooks.length, total);
  return webhooks.map(({ $id, name, url, events, enabled, tls, authUsername }) => ({
    $id,
    name,
    url,
    events,
    enabled,
    tls,
    ...(authUsername === '' ? {} : { authUsername, authPassword: reference($id, 'WEBHOOK_PASSWORD') }),
  }));
}

async function databasesOf(call: ProjectCall): Promise<FileDatabase[]> {
  const { total, databases } = await invokeAsOperator(call, databasesApi.list, { query: wholeList });
  requireWhole('databases', databases.length, total);
  const found: FileDatabase[] = [];
  for (const { $id, name, enabled } of databases) {
    const collections = await collectionsOf(call, $id);
    found.push({ $id, name, enabled, ...(collections.length === 0 ? {} : { collections }) });
  }
  return found;
}

async function collectionsOf(call: ProjectCall, databaseId: string): Promise<FileCollection[]> {
  const params = { databaseId };
  const { total, collections } = await invokeAsOperator(call, databasesApi.listCollections, {
    params,
    query: wholeList,
  });
  requireWhole('collections', collections.length, total);
  return [...collections].sort(byPlace).map(({ attributes, indexes, ...one }) => {
    const shown = attributes.filter(({ side }) => side !== 'child').map((attribute) => attributeOf(attribute));
    const built = indexes.map(({ key, type, attributes, orders, lengths }) => ({
      key,
      type,
      attributes: [...attributes],
      ...(orders.some((order) => order.toUpperCase() === 'DESC') ? { orders: [...orders] } : {}),
      ...(lengths.some((length) => length > 0) ? { lengths: [...lengths] } : {}),
    }));
    return {
      $id: one.$id,
      name: one.name,
      enabled: one.enabled,
      documentSecurity: one.documentSecurity,
      $permissions: [...one.$permissions],
      ...(shown.length === 0 ? {} : { attributes: shown }),
      ...(built.length === 0 ? {} : { indexes: built.sort(byPlace) }),
    };
  });
}

/** The members of an attribute that it would not have anyway. */
function attributeOf({ key, type, format, ...members }: WireAttribute): FileAttribute {
  const named = typeNames.find((name) => {
    const { wireType, format: known } = attributeTypes[name];
    return wireType === type && (known || undefined) === (format || undefined);
  });
  const { required, array, encrypt, default: value, size, min, max, elements } = members as Omit<FileAttribute, 'key'>;
  if (type === 'relationship') {
    const { relatedCollection, relationType, twoWay, twoWayKey, onDelete } = members as Omit<FileAttribute, 'key'>;
    const other = twoWay ? { twoWay, twoWayKey } : {};
    return { key, type, relatedCollection, relationType, ...other, onDelete };
  }
  return {
    key,
    type: named === undefined ? type : attributeTypes[named].path,
    ...(required ? { required } : {}),
    ...(array ? { array } : {}),
    ...(encrypt ? { encrypt } : {}),
    ...(isSet(value) || value === '' ? { default: value } : {}),
    ...(size === undefined ? {} : { size }),
    ...(min === undefined || isNoBound(min) ? {} : { min }),
    ...(max === undefined || isNoBound(max) ? {} : { max }),
    ...(elements === undefined ? {} : { elements: [...elements] }),
  };
}

/** A file that lacks a part of the project would remove the rest with --prune. */
function requireWhole(word: string, read: number, total: number): void {
  if (read >= total) return;
  const message = `The project has more than ${read} ${word}, more than a file can have.`;
  throw failedError('project_too_large', message, 'svc backup create stores everything');
}
