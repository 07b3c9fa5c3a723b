import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Failure } from '#src/contract/errors.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { digest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { type PublicKeys, publicKeyOf, publicTextOf, type Signer } from '../chain/statement.js';
import { type AuditKeyRow, type AuditStore, auditKeys, sealedAuditKeys } from '../store.js';

/** Stands where sealed values name their project; no project has this id. */
const owner = '*';
const idLength = 16;

/** A key that signs heads, with its public half as text. */
interface AuditSigner extends Signer {
  readonly publicText: string;
}

/** The keys that sign heads and segments: made on first need, wrapped by the master key. */
export function createAuditKeys({ sealing }: Pick<Runtime, 'sealing'>, store: AuditStore) {
  const cache = new Map<string, KeyObject>();
  /** Who writes to the database cannot put another key in its place, as that would not open. */
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
    /** The key that signs; made where there is none. Throws Failure `general_unavailable` where none opens. */
    signing: async (unit: Unit): Promise<AuditSigner> => {
      const newest = (await all(unit)).at(-1);
      if (newest !== undefined) return newest;
      if (await exist(unit)) throw new Failure('general_unavailable', { retryAfter: 60 });
      const { privateKey } = generateKeyPairSync('ed25519');
      const publicText = publicTextOf(privateKey);
      const id = digest(publicText).slice(0, idLength);
      const dataKey = sealing.newDataKey(owner);
      const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
      const secret = sealing.seal(owner, dataKey, { column: sealedAuditKeys, row: id }, pem);
      await unit.run(store.insertKey({ id, publicKey: publicText, dataKey, secret, createdAt: unit.now }));
      return { id, privateKey, publicText };
    },
    /** What verifies signatures of this installation; the stored public keys are not believed. */
    publicKeys: async (reader: Reader): Promise<PublicKeys> => {
      const keys = new Map((await all(reader)).map(({ id, publicText }) => [id, publicKeyOf(publicText)]));
      return (id) => keys.get(id);
    },
    /** Whether a key was ever made: from then on the head is signed. */
    exist,
    /** Every public key by its id. */
    publicTexts: async (reader: Reader): Promise<Record<string, string>> =>
      Object.fromEntries((await all(reader)).map(({ id, publicText }) => [id, publicText])),
    /** The public key of the latest signatures; empty where nothing was sealed yet. */
    publicText: async (reader: Reader): Promise<string> => (await all(reader)).at(-1)?.publicText ?? '',
  };
}

/** The keys of the audit log. */
export type AuditKeys = ReturnType<typeof createAuditKeys>;
