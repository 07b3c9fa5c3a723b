import { createPrivateKey, type KeyObject } from 'node:crypto';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { BrowserCall } from '../../../external-logins/index.js';
import type { Provider } from '../../../providers/index.js';
import type { OwnCertificate } from '../protocol/index.js';
import { createOwnKeyStore, type SamlKeysRow, samlKeys, sealedSamlKeys } from './store.js';

export { sealedSamlKeys } from './store.js';

/** By what a provider knows us, and what only we have. */
interface OwnKeys {
  readonly signingKey: KeyObject;
  readonly decryptionKey: KeyObject;
  /** As PEM. */
  readonly signingCertificate: string;
  readonly encryptionCertificate: string;
}

/** Our keys towards SAML providers. A provider gets them when they are first needed: by its metadata, or by a request that is signed. */
export function createOwnKeys(
  { db, sql, clock, sealing }: Pick<Runtime, 'db' | 'sql' | 'clock' | 'sealing'>,
  make: (name: string, nowMs: number) => Promise<OwnCertificate>,
) {
  const store = createOwnKeyStore(sql);
  const aadOf = (provider: string) => ({ column: sealedSamlKeys, row: provider });
  const making = new Map<string, Promise<OwnKeys>>();
  let last: Promise<unknown> = Promise.resolve();

  const find = async (project: Project, provider: string): Promise<OwnKeys | undefined> => {
    const found = await db.one(store.find({ projectId: project.id, provider }));
    if (found === undefined) return undefined;
    const { secrets, signingCertificate, encryptionCertificate } = samlKeys.decode(found);
    const opened = sealing.tryOpen(project.id, project.dataKey, aadOf(provider), secrets);
    // As with a configuration that does not open: the provider has to be added anew.
    if (opened === undefined) throw new Failure('project_provider_disabled');
    const { signing, encryption } = JSON.parse(opened) as Record<'signing' | 'encryption', string>;
    const [signingKey, decryptionKey] = [createPrivateKey(signing), createPrivateKey(encryption)];
    return { signingKey, decryptionKey, signingCertificate, encryptionCertificate };
  };
  /** One after the other: each takes a core for a second. */
  const madeFor = async (project: Project, provider: string): Promise<Omit<SamlKeysRow, 'createdAt'>> => {
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
  };
  const add = async (call: BrowserCall, provider: Provider): Promise<OwnKeys> => {
    const { project } = call;
    const { key, kind, name, enabled } = provider;
    const row = last.then(() => madeFor(project, key));
    last = row.catch(() => {});
    const made = await row;
    await db.work(auditContextOf(call), async (unit) => {
      // Another process may have been quicker; its keys count then.
      if ((await unit.one(store.insert({ ...made, createdAt: unit.now }))) === undefined) return;
      unit.record('providerUpdated', { resource: `providers/${key}`, payload: { kind, name, enabled } });
    });
    const stored = await find(project, key);
    if (stored === undefined) throw new Failure('project_provider_disabled');
    return stored;
  };

  return {
    /** Those that the provider can know; undefined where it cannot know any yet. Throws Failure `project_provider_disabled` for unreadable ones. */
    find,
    /** The same, made if there are none. */
    get: async (call: BrowserCall, provider: Provider): Promise<OwnKeys> => {
      const { project } = call;
      const found = await find(project, provider.key);
      if (found !== undefined) return found;
      const name = `${project.id}/${provider.key}`;
      const begun = making.get(name) ?? add(call, provider).finally(() => making.delete(name));
      making.set(name, begun);
      return begun;
    },
  };
}
