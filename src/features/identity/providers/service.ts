import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { providerLimits } from '#src/contract/limits.js';
import type { LoginSwitch, Project } from '#src/contract/project.js';
import { required, visibleText } from '#src/contract/shapes.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { createProviderStore, type ProviderRow, providers, sealedProviders } from './store.js';
import { disabled, type ProviderFinding, unreadable } from './testing/findings.js';

/** A protocol that identity providers speak, as the login method that speaks it describes it. */
export interface ProviderKind {
  readonly kind: string;
  /** The setting by which a project switches off logins by it. */
  readonly login: LoginSwitch;
  /** Where its logins start; the key of the provider follows. */
  readonly startPath: string;
  /** The only keys that providers of this kind have, and that others must not have; any other where absent. */
  readonly keys?: ReadonlySet<string>;
  /** The configuration that is stored. Throws Failure `general_argument_invalid` for anything that is none. */
  parse(key: string, config: unknown): ProviderConfig;
  /** Refuses a change after which the provider would name other people by the same ids. Throws Failure. */
  demandSamePeople(key: string, before: ProviderConfig, after: ProviderConfig): void;
  /** What of it may be shown: no secrets. */
  show(key: string, config: ProviderConfig): Readonly<Record<string, unknown>>;
  /**
   * Fills in what is read elsewhere, before the unit of work: a document that the provider publishes. Throws Failure `general_unavailable` where
   * it cannot be reached, `general_argument_invalid` where it is none.
   */
  prepare?(config: ProviderConfig): Promise<ProviderConfig>;
  /** The addresses of the service that are registered at the provider, by their names on the wire. */
  addresses(projectId: string, key: string): Readonly<Record<string, string>>;
  /** Calls the provider and looks for what keeps logins from working, now or soon. */
  test(provider: Provider): Promise<readonly ProviderFinding[]>;
}

/** What a provider is configured with; its kind knows the members. */
export type ProviderConfig = Readonly<Record<string, unknown>>;

/** An identity provider of a project. */
export interface Provider extends Omit<ProviderRow, 'config'> {
  readonly config: ProviderConfig;
}

/** A provider by which users can log in. */
export type OfferedProvider = Pick<Provider, 'key' | 'name'> & { readonly path: string };

/** What can be said of a provider when it is added or changed. */
export interface ProviderInput {
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly config?: ProviderConfig | undefined;
}

/** The identity providers of projects. */
export interface Providers {
  list(reader: Reader, project: Project): Promise<Provider[]>;
  /** Those by which users can log in now, each with the path where that starts. */
  offered(reader: Reader, project: Project): Promise<OfferedProvider[]>;
  /** Throws Failure `provider_not_found`. */
  get(reader: Reader, project: Project, key: string): Promise<Provider>;
  /** The same for logins. Throws Failure `project_provider_disabled` for one that is disabled, of another kind, or not there. */
  getEnabled(reader: Reader, project: Project, key: string, kinds: readonly string[]): Promise<Provider>;
  /** Throws Failure `provider_already_exists`, and for a key or a configuration that does not fit. */
  add(
    unit: Unit,
    project: Project,
    input: ProviderInput & { readonly key: string; readonly kind: string },
  ): Promise<Provider>;
  /** Changes what is given; of the configuration only the members that are given. */
  update(unit: Unit, project: Project, key: string, input: ProviderInput): Promise<Provider>;
  /** Removes a provider with the identities of users at it. */
  remove(unit: Unit, project: Project, key: string): Promise<void>;
  /** What of a provider may be shown. */
  show(provider: Provider): Readonly<Record<string, unknown>>;
  /** The configuration with what its kind reads elsewhere; the same for a kind that reads nothing. Throws Failure. */
  prepare(kind: string, config: ProviderConfig): Promise<ProviderConfig>;
  /** The addresses that are registered at a provider; none for a kind that is not known. */
  addresses(kind: string, projectId: string, key: string): Readonly<Record<string, string>>;
  /** What keeps the logins of a provider from working, now or soon. */
  test(provider: Provider): Promise<readonly ProviderFinding[]>;
}

const keyShape = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,35}$/, 'must be 1 to 36 characters of a-z 0-9 - and start with a letter or digit');
const nameShape = required(visibleText(128));

/** Creates the service of identity providers. `reserved` are names that sessions have from other ways to log in. */
export function createProviders(
  { sql, sealing }: Pick<Runtime, 'sql' | 'sealing'>,
  { kinds, reserved }: { readonly kinds: readonly ProviderKind[]; readonly reserved: ReadonlySet<string> },
): Providers {
  const store = createProviderStore(sql);
  const aadOf = (key: string) => ({ column: sealedProviders, row: key });
  const kindOf = (name: string): ProviderKind => {
    const kind = kinds.find((one) => one.kind === name);
    if (kind === undefined)
      throw invalid(`There is no kind ${name}. Known: ${kinds.map((one) => one.kind).join(', ')}.`);
    return kind;
  };
  const seal = (project: Project, key: string, config: ProviderConfig): string =>
    sealing.seal(project.id, project.dataKey, aadOf(key), JSON.stringify(config));
  const open = (project: Project, row: ProviderRow): Provider => {
    // One that does not open configures nothing: its logins are refused until it is added anew.
    const text = sealing.tryOpen(project.id, project.dataKey, aadOf(row.key), row.config);
    return { ...row, enabled: row.enabled && text !== undefined, config: text === undefined ? {} : JSON.parse(text) };
  };
  const find = async (reader: Reader, project: Project, key: string): Promise<Provider | undefined> => {
    const row = await reader.one(store.find({ projectId: project.id, key }));
    return row && open(project, providers.decode(row));
  };
  const get: Providers['get'] = async (reader, project, key) => {
    const provider = await find(reader, project, key);
    if (provider === undefined) throw new Failure('provider_not_found');
    return provider;
  };
  /** The key of a built-in provider means that one, and the names of other ways to log in would pass for them. */
  const demandKey = (key: string, kind: ProviderKind): void => {
    const parsed = keyShape.safeParse(key);
    if (!parsed.success) throw invalid(`Invalid \`key\` param: ${parsed.error.issues[0]?.message}`);
    if (kind.keys !== undefined && !kind.keys.has(key))
      throw invalid(`There is no built-in provider ${key}. Known: ${[...kind.keys].join(', ')}.`);
    if (kind.keys === undefined && kinds.some(({ keys }) => keys?.has(key)))
      throw invalid(`${key} is the key of a built-in provider. Choose another one.`);
    if (reserved.has(key)) throw invalid(`${key} is the name of another way to log in. Choose another key.`);
  };
  const demandNameFits = (name: string): void => {
    const parsed = nameShape.safeParse(name);
    if (!parsed.success) throw invalid(`Invalid \`name\` param: ${parsed.error.issues[0]?.message}`);
  };

  const list: Providers['list'] = async (reader, project) =>
    (await reader.all(store.list(project.id))).map((row) => open(project, providers.decode(row)));

  return {
    list,
    offered: async (reader, project) => {
      const offered = (await list(reader, project)).map(({ enabled, key, name, kind: kindName }) => {
        const { login, startPath } = kindOf(kindName);
        return enabled && project.settings[login] ? [{ key, name, path: `${startPath}/${key}` }] : [];
      });
      return offered.flat();
    },
    get,
    getEnabled: async (reader, project, key, names) => {
      const provider = await find(reader, project, key);
      if (provider === undefined || !provider.enabled || !names.includes(provider.kind))
        throw new Failure('project_provider_disabled');
      return provider;
    },
    add: async (unit, project, { key, kind: kindName, name, enabled = true, config = {} }) => {
      const kind = kindOf(kindName);
      demandKey(key, kind);
      if (name !== undefined) demandNameFits(name);
      const parsed = kind.parse(key, config);
      await unit.one(store.holdProject(project.id));
      const { count } = (await unit.one(store.count(project.id))) ?? {};
      if (Number(count) >= providerLimits.perProject) throw new Failure('provider_limit_exceeded');
      const times = { createdAt: unit.now, updatedAt: unit.now };
      const row = { projectId: project.id, key, kind: kind.kind, name: name ?? key, enabled, ...times };
      if ((await unit.one(store.insert({ ...row, config: seal(project, key, parsed) }))) === undefined)
        throw new Failure('provider_already_exists');
      unit.record('providerCreated', {
        resource: `providers/${key}`,
        payload: { kind: kind.kind, name: row.name, enabled },
      });
      return { ...row, config: parsed };
    },
    update: async (unit, project, key, { name, enabled, config }) => {
      const before = await get(unit, project, key);
      const kind = kindOf(before.kind);
      if (name !== undefined) demandNameFits(name);
      const parsed = config === undefined ? undefined : kind.parse(key, { ...before.config, ...config });
      if (parsed !== undefined) kind.demandSamePeople(key, before.config, parsed);
      const change = {
        name: name ?? before.name,
        ...(enabled === undefined ? {} : { enabled }),
        updatedAt: unit.now,
      };
      const sealed = parsed === undefined ? {} : { config: seal(project, key, parsed) };
      await unit.run(store.update(project.id, key, { ...change, ...sealed }));
      const after = { ...before, ...change, config: parsed ?? before.config };
      const payload = { kind: after.kind, name: after.name, enabled: after.enabled };
      unit.record('providerUpdated', { resource: `providers/${key}`, payload });
      return after;
    },
    remove: async (unit, project, key) => {
      const { kind, name } = await get(unit, project, key);
      await unit.run(store.remove(project.id, key));
      unit.record('providerDeleted', { resource: `providers/${key}`, payload: { kind, name } });
    },
    // Nothing, where the configuration does not open.
    show: ({ kind, key, config }) => (isReadable(config) ? kindOf(kind).show(key, config) : {}),
    prepare: async (kind, config) => (await kindOf(kind).prepare?.(config)) ?? config,
    addresses: (kind, projectId, key) => kindOf(kind).addresses(projectId, key),
    test: async (provider) => {
      if (!isReadable(provider.config)) return [unreadable(provider)];
      const found = await kindOf(provider.kind).test(provider);
      return provider.enabled ? found : [disabled(provider), ...found];
    },
  };
}

/** A configuration that cannot be opened is empty. */
function isReadable(config: ProviderConfig): boolean {
  return Object.keys(config).length > 0;
}

function invalid(message: string): Failure {
  return new Failure('general_argument_invalid', { message });
}
