import { z } from 'zod';
import { attributeTypes, typeNames } from '#src/features/index.js';
import { usageError } from '../terminal/exit.js';
import type { FileAttribute, ProjectFile } from './file.js';
import type { Kind } from './items.js';

const named = z.looseObject({ $id: z.string(), name: z.string(), enabled: z.boolean().optional() });
const field = z.looseObject({ key: z.string(), type: z.string(), format: z.string().nullish() });
const index = z.looseObject({ key: z.string(), type: z.string(), orders: z.array(z.string().nullable()).nullish() });
const collection = named.extend({
  databaseId: z.string(),
  $permissions: z.array(z.string()).default([]),
  documentSecurity: z.boolean().optional(),
  rowSecurity: z.boolean().optional(),
  attributes: z.array(field).optional(),
  columns: z.array(field).optional(),
  indexes: z.array(index).default([]),
});
const bucket = z.object({
  ...named.shape,
  $permissions: z.array(z.string()).default([]),
  fileSecurity: z.boolean().optional(),
  maximumFileSize: z.int().optional(),
  allowedFileExtensions: z.array(z.string()).default([]),
  compression: z.string().optional(),
  encryption: z.boolean().optional(),
  transformations: z.boolean().optional(),
});
const security = z.looseObject({
  duration: z.number().optional(),
  sessionsLimit: z.int().optional(),
  sessionAlerts: z.boolean().optional(),
});
/** `appwrite.json` and `appwrite.config.json`, as Appwrite's command line writes them. */
const appwriteFile = z.looseObject({
  projectId: z.string(),
  projectName: z.string().optional(),
  settings: z
    .looseObject({
      auth: z
        .looseObject({ methods: z.record(z.string(), z.boolean()).optional(), security: security.optional() })
        .optional(),
    })
    .optional(),
  databases: z.array(named).default([]),
  tablesDB: z.array(named).default([]),
  collections: z.array(collection).default([]),
  tables: z.array(collection).default([]),
  buckets: z.array(bucket).default([]),
  teams: z.array(named).default([]),
});
type AppwriteFile = z.output<typeof appwriteFile>;

/** The settings of login methods, by their names in the file. */
const methods: Readonly<Record<string, string>> = {
  'email-password': 'login.password',
  anonymous: 'login.anonymous',
  'magic-url': 'login.magicUrl',
  'email-otp': 'login.emailOtp',
  phone: 'login.phone',
  invites: 'login.invitation',
};
/** Parts of the file that have no counterpart here, or that only Appwrite's server has. */
const known = ['projectId', 'projectName', 'endpoint', 'organizationId', 'settings'];
const daySeconds = 86_400;

/** True for a file of Appwrite's command line. */
export function isAppwriteFile(content: unknown): boolean {
  return typeof content === 'object' && content !== null && 'projectId' in content && !('project' in content);
}

/** The kinds of items that the file can name. It has no keys and providers, so `--prune` must not remove those of the project. */
export const appwriteKinds: readonly Kind[] = [
  ...(['project', 'team', 'database', 'collection', 'attribute', 'index', 'bucket'] as const),
];

/** Converts a file of Appwrite's command line. `left` lists its parts without a counterpart here. Throws CommandError if the file is invalid. */
export function fromAppwriteFile(content: unknown): { file: ProjectFile; left: string[] } {
  const parsed = appwriteFile.safeParse(content);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw usageError(`The file of Appwrite has a mistake at ${issue?.path.join('.')}: ${issue?.message}.`);
  }
  const { data } = parsed;
  const taken = [...known, ...Object.keys(appwriteFile.shape)];
  const left = Object.entries(data)
    .filter(([name, value]) => !taken.includes(name) && Array.isArray(value) && value.length > 0)
    .map(([name, value]) => `${(value as unknown[]).length} ${name}`);
  const places = new Set([...data.databases, ...data.tablesDB].map(({ $id }) => $id));
  const homeless = [...data.collections, ...data.tables].filter(({ databaseId }) => !places.has(databaseId));
  left.push(
    ...homeless.map(({ $id, databaseId }) => `the collection ${$id}, whose database ${databaseId} is not in the file`),
  );
  left.push(...lostSettings(data));
  const settings = settingsOf(data);
  const databases = databasesOf(data);
  return {
    file: {
      project: {
        $id: data.projectId,
        ...(data.projectName === undefined ? {} : { name: data.projectName }),
        ...(Object.keys(settings).length === 0 ? {} : { settings }),
      },
      databases,
      buckets: data.buckets.map((one) => ({
        ...one,
        // Of its two kinds of compression svc has one.
        compression: one.compression === 'zstd' ? 'gzip' : one.compression,
      })),
      teams: data.teams.map(({ $id, name }) => ({ $id, name })),
    },
    left,
  };
}

/** An attribute of a type that does not exist here, or an index over one. */
interface UnknownPart {
  readonly kind: 'attribute' | 'index';
  readonly path: readonly [databaseId: string, collectionId: string, key: string];
  readonly type?: string;
}

/** Leaves out attributes of types that do not exist here, and indexes over them. */
export function withKnownTypes(file: ProjectFile): { file: ProjectFile; left: readonly UnknownPart[] } {
  const left: UnknownPart[] = [];
  const databases = file.databases?.map((database) => ({
    ...database,
    collections: database.collections?.map((collection) => {
      const { attributes = [], indexes = [] } = collection;
      const unknown = attributes.filter(({ type }) => !knownTypes.has(type));
      const keys = unknown.map(({ key }) => key);
      const unusable = indexes.filter((index) => index.attributes.some((key) => keys.includes(key)));
      const pathOf = ({ key }: { readonly key: string }) => [database.$id, collection.$id, key] as const;
      left.push(...unknown.map((one) => ({ kind: 'attribute' as const, path: pathOf(one), type: one.type })));
      left.push(...unusable.map((one) => ({ kind: 'index' as const, path: pathOf(one) })));
      return {
        ...collection,
        attributes: attributes.filter((one) => !unknown.includes(one)),
        indexes: indexes.filter((one) => !unusable.includes(one)),
      };
    }),
  }));
  return { file: { ...file, databases }, left };
}

const knownTypes = new Set(['relationship', ...typeNames.map((name) => attributeTypes[name].path as string)]);

/** Settings that are on in the file and have no counterpart here, and login methods and services that are off. */
function lostSettings({ settings = {} }: AppwriteFile): string[] {
  const { auth, ...others } = settings;
  const { methods: switches = {}, security: rules = {} } = auth ?? {};
  const namesOf = (group: object, isLost: (name: string, value: unknown) => boolean) =>
    Object.entries(group).flatMap(([name, value]) => (isLost(name, value) ? [name] : []));
  const lost = [
    ...namesOf(switches, (name, isOn) => isOn === false && !Object.hasOwn(methods, name)),
    ...namesOf(rules, (name, value) => !Object.hasOwn(security.shape, name) && isGiven(value)),
    ...Object.values(others).flatMap((group) => namesOf(group ?? {}, (_, isOn) => isOn === false)),
  ];
  return lost.length === 0 ? [] : [`the settings ${lost.join(', ')}`];
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function settingsOf({ settings }: AppwriteFile): Record<string, unknown> {
  const { methods: switches = {}, security: rules = {} } = settings?.auth ?? {};
  const found = Object.entries(switches).flatMap(([word, isOn]) =>
    Object.hasOwn(methods, word) ? [[methods[word], isOn]] : [],
  );
  const { duration, sessionsLimit, sessionAlerts } = rules;
  return {
    ...Object.fromEntries(found),
    ...(duration === undefined
      ? {}
      : { 'session.days': Math.min(365, Math.max(1, Math.round(duration / daySeconds))) }),
    ...(sessionsLimit === undefined ? {} : { 'session.limit': sessionsLimit }),
    ...(sessionAlerts === undefined ? {} : { 'session.alerts': sessionAlerts }),
  };
}

function databasesOf({ databases, tablesDB, collections, tables }: AppwriteFile): ProjectFile['databases'] {
  const all = new Map([...databases, ...tablesDB].map((one) => [one.$id, one]));
  return [...all.values()].map(({ $id, name, enabled }) => ({
    $id,
    name,
    enabled,
    collections: [...collections, ...tables]
      .filter(({ databaseId }) => databaseId === $id)
      .map((one) => ({
        $id: one.$id,
        name: one.name,
        enabled: one.enabled,
        $permissions: one.$permissions,
        documentSecurity: one.documentSecurity ?? one.rowSecurity,
        attributes: (one.attributes ?? one.columns ?? []).filter(({ side }) => side !== 'child').map(attributeOf),
        indexes: one.indexes.map(indexOf),
      })),
  }));
}

function attributeOf({ key, type, format, ...members }: z.output<typeof field>): FileAttribute {
  const { required, array, encrypt, size, min, max, elements, default: value } = members as Partial<FileAttribute>;
  if (type === 'relationship') {
    const { relationType, twoWay, twoWayKey, onDelete } = members as Partial<FileAttribute>;
    const relatedCollection = String(members.relatedCollection ?? members.relatedTable);
    return { key, type, relatedCollection, relationType, twoWay, twoWayKey, onDelete };
  }
  const named = type === 'string' && format ? format : type === 'double' ? 'float' : type;
  // Other formats have a size of their own.
  const sized = ['string', 'varchar'].includes(named) ? { size } : {};
  return { key, type: named, required, array, encrypt, ...sized, min, max, elements, default: value };
}

function indexOf({ key, type, orders, ...members }: z.output<typeof index>) {
  const attributes = (members.attributes ?? members.columns ?? []) as string[];
  return { key, type, attributes, orders: orders ?? [] };
}

/** Converts a project to the file of Appwrite's command line. Platforms, providers, keys and webhooks have no place in it. */
export function toAppwriteFile({ project, databases = [], buckets = [], teams = [] }: ProjectFile) {
  return {
    projectId: project.$id,
    ...(project.name === undefined ? {} : { projectName: project.name }),
    databases: databases.map(({ $id, name, enabled }) => ({ $id, name, enabled })),
    collections: databases.flatMap(({ $id: databaseId, collections = [] }) =>
      collections.map(({ attributes = [], indexes = [], ...members }) => ({
        databaseId,
        ...members,
        attributes: attributes.map(fieldOf),
        indexes,
      })),
    ),
    buckets: buckets.map((one) => ({ ...one, antivirus: false })),
    teams,
  };
}

function fieldOf({ type, ...members }: FileAttribute) {
  if (type === 'relationship') return { ...members, type, side: 'parent' };
  const known = typeNames.map((name) => attributeTypes[name]).find(({ path }) => path === type);
  return { ...members, type: known?.wireType ?? type, ...(known?.format ? { format: known.format } : {}) };
}
