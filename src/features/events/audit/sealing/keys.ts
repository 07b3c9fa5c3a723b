import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Failure } from '#src/contract/errors.js';
import { digest } from '#src/platform/crypto/digest.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { MasterKeys } from '../../../installation/index.js';
import { type PublicKeys, publicKeyOf, publicTextOf, type Signer } from '../chain/statement.js';
import { type AuditKeyRow, type AuditStore, auditKeys, sealedAuditKeys } from '../model/store.js';

/** Replaces the project id in sealed audit keys. No project has this id. */
const owner = '*';
const idLength = 16;

/** A signing key, with its public part as text. */
interface AuditSigner extends Signer {
  readonly publicText: string;
}

/** The keys of the audit log. */
export interface AuditKeys {
  /** The current signing key; created if there is none. Throws Failure `general_unavailable` if keys exist but none can be opened. */
  signing(unit: Unit): Promise<AuditSigner>;
  /** Public keys that verify this installation's signatures. Derived from the sealed keys: the stored public keys are not trusted. */
  publicKeys(reader: Reader): Promise<PublicKeys>;
  /** True if a key was ever created. From then on the head is signed. */
  exist(reader: Reader): Promise<boolean>;
  /** Every public key by its id. */
  publicTexts(reader: Reader): Promise<Record<string, string>>;
  /** The public key of the latest signatures; empty before anything is sealed. */
  publicText(reader: Reader): Promise<string>;
}

/** Keys that sign heads and segments. Created on first use, wrapped by the master key. */
export function createAuditKeys(
  { sealing }: Pick<Runtime, 'sealing'>,
  store: AuditStore,
  masterKey: Pick<MasterKeys, 'requireCurrent'>,
): AuditKeys {
  const cache = new Map<string, KeyObject>();
  /** Opens a sealed key. An attacker with write access to the database cannot replace it, as a replacement would not open. */
  const open = ({ id, dataKey, secret }: AuditKeyRow): AuditSigner | undefined => {
    const name = `${id} ${secret}`;
    const text = cache.has(name) ? '' : sealing.tryOpen(owner, dataKey, { column: sealedAuditKeys, row: id }, secret);
    if (text === undefined) return undefined;
    const privateKey = cache.get(name) ?? createPrivateKey(text);
    cache.set(name, privateKey);
    return { id, privateKey, publicText: publicTextOf(privateKey) };
  };
  const all = async (reader: Reader): Promise<AuditSigner[]> => {
    const rows = (await reader.all(store.keys())).map((row) => auditKeys.decode(row));
    return rows.map(open).filter((signer) => signer !== undefined);
  };
  const exist = async (reader: Reader): Promise<boolean> => (await reader.all(store.keys())).length > 0;
  return {
    signing: async (unit) => {
      const newest = (await all(unit)).at(-1);
      if (newest !== undefined) return newest;
      if (await exist(unit)) throw new Failure('general_unavailable', { retryAfter: 60 });
      await masterKey.requireCurrent(unit);
      const { privateKey } = generateKeyPairSync('ed25519');
      const publicText = publicTextOf(privateKey);
      const id = digest(publicText).slice(0, idLength);
      const dataKey = sealing.newDataKey(owner);
      const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
      const secret = sealing.seal(owner, dataKey, { column: sealedAuditKeys, row: id }, pem);
      await unit.run(store.insertKey({ id, publicKey: publicText, dataKey, secret, createdAt: unit.now }));
      return { id, privateKey, publicText };
    },
    publicKeys: async (reader) => {
      const keys = new Map((await all(reader)).map(({ id, publicText }) => [id, publicKeyOf(publicText)]));
      return (id) => keys.get(id);
    },
    exist,
    publicTexts: async (reader) =>
      Object.fromEntries((await all(reader)).map(({ id, publicText }) => [id, publicText])),
    publicText: async (reader) => (await all(reader)).at(-1)?.publicText ?? '',
  };
}
