import { z } from 'zod';
import { Failure, invalidParam } from '#src/contract/errors.js';
import { providerLimits } from '#src/contract/limits.js';
import type { LoginSwitch, Project } from '#src/contract/project.js';
import { required, visibleText } from '#src/contract/shapes.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { createProviderStore, type ProviderRow, providers, sealedProviders } from './store.js';
import { disabled, type ProviderFinding, unreadableConfig } from './testing/findings.js';

/** A protocol of identity providers, implemented by a login method. */
export interface ProviderKind {
  readonly kind: string;
  /** The project setting that switches off logins with it. */
  readonly login: LoginSwitch;
  /** Path that starts its logins; the provider's key is appended. */
  readonly startPath: string;
  /** The keys of built-in providers: providers of this kind must use one of them, others must not. If absent, any other key is allowed. */
  readonly keys?: ReadonlySet<string>;
  /** Validates a configuration and returns the form to store. Throws Failure `general_argument_invalid`. */
  parse(key: string, config: unknown): ProviderConfig;
  /** Members that cannot change, because the same ids could then refer to other people at the provider, and their names for people. */
  readonly identifiedBy: Readonly<Record<string, string>>;
  /** The configuration without secrets. */
  show(config: ProviderConfig): Readonly<Record<string, unknown>>;
  /**
   * Loads the document that the provider publishes into the configuration, before the unit of work. `before` is the current configuration.
   * Throws Failure `general_unavailable` if it cannot be reached, `general_argument_invalid` if it is invalid.
   */
  prepare?(config: ProviderConfig, before?: ProviderConfig): Promise<ProviderConfig>;
  /** URLs of the service to register at the provider, by their names on the wire. */
  addresses(projectId: string, key: string): Readonly<Record<string, string>>;
  /** Calls the provider and reports problems that prevent logins, now or soon. */
  test(provider: Provider): Promise<readonly ProviderFinding[]>;
}

/** Configuration of a provider; its kind defines the members. */
export type ProviderConfig = Readonly<Record<string, unknown>>;

/** An identity provider of a project. */
export interface Provider extends Omit<ProviderRow, 'config'> {
  readonly config: ProviderConfig;
}

/** A provider that users can log in with. */
export type OfferedProvider = Pick<Provider, 'key' | 'name'> & { readonly path: string };

/** Input for adding or changing a provider. */
export interface ProviderInput {
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly config?: ProviderConfig | undefined;
}

type NewProvider = ProviderInput & { readonly key: string; readonly kind: string };

/** The identity providers of projects. */
export interface Providers {
  list(reader: Reader, project: Project): Promise<Provider[]>;
  /** Providers that users can log in with now, each with the path that starts the login. */
  offered(reader: Reader, project: Project): Promise<OfferedProvider[]>;
  /** Throws Failure `provider_not_found`. */
  get(reader: Reader, project: Project, key: string): Promise<Provider>;
  /** `get` for logins. Throws Failure `project_provider_disabled` if the provider is disabled, of another kind, or does not exist. */
  getEnabled(reader: Reader, project: Project, key: string, kinds: readonly string[]): Promise<Provider>;
  /**
   * Throws Failure `provider_already_exists`, `provider_limit_exceeded`, and `general_argument_invalid` for an invalid key or
   * configuration.
   */
  add(unit: Unit, project: Project, input: NewProvider): Promise<Provider>;
  /** Changes the given members, also within the configuration. */
  update(unit: Unit, project: Project, key: string, input: ProviderInput): Promise<Provider>;
  /** Removes a provider with its users' identities. */
  remove(unit: Unit, project: Project, key: string): Promise<void>;
  /** The configuration of a provider without secrets. */
  show(provider: Provider): Readonly<Record<string, unknown>>;
  /** Completes a configuration with what its kind loads from the provider; unchanged if the kind loads nothing. Throws Failure. */
  prepare(kind: string, config: ProviderConfig, before?: ProviderConfig): Promise<ProviderConfig>;
  /** URLs to register at a provider. Throws Failure `general_argument_invalid` for an unknown kind. */
  addresses(kind: string, projectId: string, key: string): Readonly<Record<string, string>>;
  /** Reports problems that prevent logins with a provider, now or soon. */
  test(provider: Provider): Promise<readonly ProviderFinding[]>;
}

type ProviderStore = ReturnType<typeof createProviderStore>;

interface Deps extends Pick<Runtime, 'sealing'> {
  readonly store: ProviderStore;
  readonly kinds: readonly ProviderKind[];
  readonly reserved: ReadonlySet<string>;
}

const keyShape = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,35}$/, 'must be 1 to 36 characters of a-z 0-9 - and start with a letter or digit');
const nameShape = required(visibleText(128));
const aadOf = (key: string) => ({ column: sealedProviders, row: key });

/** Creates the providers service. `reserved` are names that sessions use for other login methods. */
export function createProviders(given: Omit<Deps, 'store'> & Pick<Runtime, 'sql'>): Providers {
  const deps: Deps = { ...given, store: createProviderStore(given.sql) };
  return {
    ...bind(deps, { list, offered, get, getEnabled, add, update, remove, test }),
    // Empty if the configuration cannot be decrypted.
    show: ({ kind, config }) => (isReadable(config) ? kindOf(deps, kind).show(config) : {}),
    prepare: async (kind, config, before) => (await kindOf(deps, kind).prepare?.(config, before)) ?? config,
    addresses: (kind, projectId, key) => kindOf(deps, kind).addresses(projectId, key),
  };
}

async function list(deps: Deps, reader: Reader, project: Project): Promise<Provider[]> {
  return (await reader.all(deps.store.list(project.id))).map((row) => open(deps, project, providers.decode(row)));
}

function open({ sealing }: Deps, project: Project, row: ProviderRow): Provider {
  // If the configuration cannot be decrypted, the provider is disabled until it is removed and added again.
  const text = sealing.tryOpen(project.id, project.dataKey, aadOf(row.key), row.config);
  return { ...row, enabled: row.enabled && text !== undefined, config: text === undefined ? {} : JSON.parse(text) };
}

async function offered(deps: Deps, reader: Reader, project: Project): Promise<OfferedProvider[]> {
  return (await list(deps, reader, project)).flatMap(({ enabled, key, name, kind }) => {
    const { login, startPath } = kindOf(deps, kind);
    return enabled && project.settings[login] ? [{ key, name, path: `${startPath}/${key}` }] : [];
  });
}

function kindOf({ kinds }: Deps, name: string): ProviderKind {
  const kind = kinds.find((one) => one.kind === name);
  if (kind === undefined)
    throw invalidProvider(`There is no kind ${name}. Known: ${kinds.map((one) => one.kind).join(', ')}.`);
  return kind;
}

/** Failure for an invalid provider. */
export function invalidProvider(message: string): Failure {
  return new Failure('general_argument_invalid', { message });
}

async function get(deps: Deps, reader: Reader, project: Project, key: string): Promise<Provider> {
  const provider = await find(deps, reader, project, key);
  if (provider === undefined) throw new Failure('provider_not_found');
  return provider;
}

async function find(deps: Deps, reader: Reader, project: Project, key: string): Promise<Provider | undefined> {
  const row = await reader.one(deps.store.find({ projectId: project.id, key }));
  return row && open(deps, project, providers.decode(row));
}

async function getEnabled(deps: Deps, reader: Reader, project: Project, key: string, kinds: readonly string[]) {
  const provider = await find(deps, reader, project, key);
  if (provider === undefined || !provider.enabled || !kinds.includes(provider.kind))
    throw new Failure('project_provider_disabled');
  return provider;
}

async function add(deps: Deps, unit: Unit, project: Project, input: NewProvider): Promise<Provider> {
  const { store } = deps;
  const { key, name, enabled = true, config = {} } = input;
  const kind = kindOf(deps, input.kind);
  requireKey(deps, key, kind);
  if (name !== undefined) requireFits('name', nameShape, name);
  const parsed = kind.parse(key, withoutUnset(config));
  await unit.one(store.holdProject(project.id));
  const { count } = (await unit.one(store.count(project.id))) ?? {};
  if (Number(count) >= providerLimits.perProject) throw new Failure('provider_limit_exceeded');
  const times = { createdAt: unit.now, updatedAt: unit.now };
  const row = { projectId: project.id, key, kind: kind.kind, name: name ?? key, enabled, ...times };
  if ((await unit.one(store.insert({ ...row, config: seal(deps, project, key, parsed) }))) === undefined)
    throw new Failure('provider_already_exists');
  record(unit, 'providerCreated', row);
  return { ...row, config: parsed };
}

/**
 * Rejects malformed keys, keys of built-in providers for other kinds, and names of other login methods: sessions could not be
 * distinguished.
 */
function requireKey({ kinds, reserved }: Deps, key: string, kind: ProviderKind): void {
  requireFits('key', keyShape, key);
  if (kind.keys !== undefined && !kind.keys.has(key))
    throw invalidProvider(`There is no built-in provider ${key}. Known: ${[...kind.keys].join(', ')}.`);
  if (kind.keys === undefined && kinds.some(({ keys }) => keys?.has(key)))
    throw invalidProvider(`${key} is the key of a built-in provider. Choose another one.`);
  if (reserved.has(key)) throw invalidProvider(`${key} is the name of another way to log in. Choose another key.`);
}

function requireFits(param: string, shape: z.ZodString, value: string): void {
  const parsed = shape.safeParse(value);
  if (!parsed.success) throw invalidParam(param, String(parsed.error.issues[0]?.message));
}

function seal({ sealing }: Deps, project: Project, key: string, config: ProviderConfig): string {
  return sealing.seal(project.id, project.dataKey, aadOf(key), JSON.stringify(config));
}

function record(unit: Unit, event: 'providerCreated' | 'providerUpdated', provider: Omit<Provider, 'config'>): void {
  const { key, kind, name, enabled } = provider;
  unit.record(event, { resource: `providers/${key}`, payload: { kind, name, enabled } });
}

async function update(deps: Deps, unit: Unit, project: Project, key: string, input: ProviderInput): Promise<Provider> {
  const { name, enabled, config } = input;
  const before = await get(deps, unit, project, key);
  const kind = kindOf(deps, before.kind);
  if (name !== undefined) requireFits('name', nameShape, name);
  const parsed = config === undefined ? undefined : kind.parse(key, withoutUnset({ ...before.config, ...config }));
  if (parsed !== undefined) requireSamePeople(kind, before.config, parsed);
  const change = { name: name ?? before.name, ...(enabled === undefined ? {} : { enabled }), updatedAt: unit.now };
  const sealed = parsed === undefined ? {} : { config: seal(deps, project, key, parsed) };
  await unit.run(deps.store.update(project.id, key, { ...change, ...sealed }));
  const after = { ...before, ...change, config: parsed ?? before.config };
  record(unit, 'providerUpdated', after);
  return after;
}

function requireSamePeople({ identifiedBy }: ProviderKind, before: ProviderConfig, after: ProviderConfig): void {
  for (const [member, name] of Object.entries(identifiedBy))
    if (before[member] !== after[member])
      throw invalidProvider(`The ${name} cannot change, as it decides who the users are. Add another provider.`);
}

async function remove(deps: Deps, unit: Unit, project: Project, key: string): Promise<void> {
  const { kind, name } = await get(deps, unit, project, key);
  await unit.run(deps.store.remove(project.id, key));
  unit.record('providerDeleted', { resource: `providers/${key}`, payload: { kind, name } });
}

async function test(deps: Deps, provider: Provider): Promise<readonly ProviderFinding[]> {
  if (!isReadable(provider.config)) return [unreadableConfig(provider)];
  const found = await kindOf(deps, provider.kind).test(provider);
  return provider.enabled ? found : [disabled(provider), ...found];
}

/** False for an empty configuration, which stands for one that cannot be decrypted. */
function isReadable(config: ProviderConfig): boolean {
  return Object.keys(config).length > 0;
}

/** An empty text unsets a member, so that its default holds again. */
function withoutUnset(config: ProviderConfig): ProviderConfig {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== ''));
}
