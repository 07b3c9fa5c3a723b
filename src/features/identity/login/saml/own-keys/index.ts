import { createPrivateKey, type KeyObject } from 'node:crypto';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { createSingleFlight, type SingleFlight } from '#src/platform/runtime/single-flight.js';
import type { BrowserCall } from '../../../external-logins/index.js';
import type { Provider } from '../../../providers/index.js';
import type { OwnCertificate } from '../protocol/index.js';
import { createOwnKeyStore, samlKeys, sealedSamlKeys } from './store.js';

export { sealedSamlKeys } from './store.js';

/** Our private keys for a provider, with the certificates that publish them. */
interface OwnKeys {
  readonly signingKey: KeyObject;
  readonly decryptionKey: KeyObject;
  /** As PEM. */
  readonly signingCertificate: string;
  readonly encryptionCertificate: string;
}

type OwnKeyStore = ReturnType<typeof createOwnKeyStore>;

interface Deps extends Pick<Runtime, 'db' | 'clock' | 'sealing'> {
  readonly store: OwnKeyStore;
  readonly make: (name: string, nowMs: number) => Promise<OwnCertificate>;
  /** Creates the keys of a provider once for all concurrent callers. */
  readonly makeOnce: SingleFlight<OwnKeys>;
  readonly state: { last: Promise<unknown> };
}

const aadOf = (provider: string) => ({ column: sealedSamlKeys, row: provider });

/** Our keys for SAML providers. */
export interface OwnKeysService {
  /** The keys of a provider; undefined if none were created yet. Throws Failure `project_provider_disabled` if they cannot be decrypted. */
  find(project: Project, provider: string): Promise<OwnKeys | undefined>;
  /** The keys of a provider, created if there are none. */
  get(call: BrowserCall, provider: Provider): Promise<OwnKeys>;
}

/** Our keys for SAML providers, created when first needed: for our metadata or a signed request. */
export function createOwnKeys(
  { db, sql, clock, sealing }: Pick<Runtime, 'db' | 'sql' | 'clock' | 'sealing'>,
  make: Deps['make'],
): OwnKeysService {
  const store = createOwnKeyStore(sql);
  const state = { last: Promise.resolve() };
  const deps: Deps = { db, clock, sealing, store, make, makeOnce: createSingleFlight(), state };
  return bind(deps, { find, get });
}

async function find({ db, sealing, store }: Deps, project: Project, provider: string): Promise<OwnKeys | undefined> {
  const found = await db.one(store.find({ projectId: project.id, provider }));
  if (found === undefined) return undefined;
  const { secrets, signingCertificate, encryptionCertificate } = samlKeys.decode(found);
  const opened = sealing.tryOpen(project.id, project.dataKey, aadOf(provider), secrets);
  // As for a configuration that cannot be decrypted, the provider must be removed and added again.
  if (opened === undefined) throw new Failure('project_provider_disabled');
  const { signing, encryption } = JSON.parse(opened) as Record<'signing' | 'encryption', string>;
  const [signingKey, decryptionKey] = [createPrivateKey(signing), createPrivateKey(encryption)];
  return { signingKey, decryptionKey, signingCertificate, encryptionCertificate };
}

async function get(deps: Deps, call: BrowserCall, provider: Provider): Promise<OwnKeys> {
  const { project } = call;
  const found = await find(deps, project, provider.key);
  return found ?? deps.makeOnce(() => add(deps, call, provider), `${project.id}/${provider.key}`);
}

async function add(deps: Deps, call: BrowserCall, provider: Provider): Promise<OwnKeys> {
  const { db, store, state } = deps;
  const { project } = call;
  const { key, kind, name, enabled } = provider;
  const row = state.last.then(() => madeFor(deps, project, key));
  state.last = row.catch(() => {});
  const made = await row;
  await db.work(auditContextOf(call), async (unit) => {
    // If another process was faster, its keys are used.
    if ((await unit.one(store.insert({ ...made, createdAt: unit.now }))) === undefined) return;
    unit.record('providerUpdated', { resource: `providers/${key}`, payload: { kind, name, enabled } });
  });
  const stored = await find(deps, project, key);
  if (stored === undefined) throw new Failure('project_provider_disabled');
  return stored;
}

/** One at a time: each takes a core for a second. */
async function madeFor({ clock, sealing, make }: Deps, project: Project, provider: string) {
  const name = `${project.id}/${provider}`;
  const signing = await make(name, clock.now());
  const encryption = await make(name, clock.now());
  const secrets = JSON.stringify({ signing: signing.privateKey, encryption: encryption.privateKey });
  return {
    projectId: project.id,
    provider,
    secrets: sealing.seal(project.id, project.dataKey, aadOf(provider), secrets),
    signingCertificate: signing.certificate,
    encryptionCertificate: encryption.certificate,
  };
}
