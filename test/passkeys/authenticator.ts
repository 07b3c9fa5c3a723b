// An authenticator in software, together with the browser in front of it: it answers as WebAuthn L3 says, and lies where it is told to.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { encodeCbor } from './cbor.js';

/** A credential that the service names. */
interface Descriptor {
  readonly id: string;
  readonly type: string;
  readonly transports?: readonly string[];
}

/** What the service offers at a registration. */
export interface CreationOptions {
  readonly rp: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly challenge: string;
  readonly pubKeyCredParams: readonly { readonly alg: number }[];
  readonly excludeCredentials: readonly Descriptor[];
  readonly authenticatorSelection: { readonly userVerification: string };
}

/** What the service asks for at a login. */
export interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly allowCredentials: readonly Descriptor[];
  readonly userVerification: string;
  readonly timeout: number;
}

/** What an answer says besides the truth. */
export interface Lie {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly topOrigin?: string;
  readonly userPresent?: boolean;
  readonly userVerified?: boolean;
  readonly backupEligible?: boolean;
  readonly backedUp?: boolean;
  readonly counter?: number;
  readonly userHandle?: string | null;
  /** The id under which it answers. */
  readonly id?: string;
  /** Flips a bit of the signature. */
  readonly forged?: boolean;
  /** The public key that it registers. */
  readonly publicKey?: ReadonlyMap<number, number | Uint8Array>;
  readonly format?: string;
  /** The certificates of an attestation statement. */
  readonly certificates?: readonly Uint8Array[];
  readonly transports?: readonly string[];
}

/** A key pair and its COSE form (RFC 9053). */
interface Key {
  readonly privateKey: KeyObject;
  readonly cose: Buffer;
  readonly hash: string | null;
}

const bytes = (text: string | undefined) => Buffer.from(text ?? '', 'base64url');

function newKey(alg: number): Key {
  if (alg === -7) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x, y } = publicKey.export({ format: 'jwk' });
    const map = new Map<number, number | Buffer>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ]);
    return { privateKey, cose: encodeCbor(map), hash: 'sha256' };
  }
  if (alg === -8) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const map = new Map<number, number | Buffer>([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(publicKey.export({ format: 'jwk' }).x)],
    ]);
    return { privateKey, cose: encodeCbor(map), hash: null };
  }
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { n, e } = publicKey.export({ format: 'jwk' });
  const map = new Map<number, number | Buffer>([
    [1, 3],
    [3, alg],
    [-1, bytes(n)],
    [-2, bytes(e)],
  ]);
  return { privateKey, cose: encodeCbor(map), hash: alg === -65535 ? 'sha1' : 'sha256' };
}

/** One passkey on one device. */
export class Authenticator {
  readonly id = randomBytes(20).toString('base64url');
  readonly #key: Key;
  readonly #origin: string;
  #counter: number;
  #handle = '';

  /** A device that counts its signatures starts at 1, one that does not stays at 0. */
  constructor({ origin = 'http://localhost:3000', alg = -7, counts = false } = {}) {
    this.#origin = origin;
    this.#key = newKey(alg);
    this.#counter = counts ? 1 : 0;
  }

  /** Answers `navigator.credentials.create()`, as `toJSON()` prints it. */
  create(options: CreationOptions, lie: Lie = {}) {
    this.#handle = options.user.id;
    const authData = this.#authenticatorData(lie.rpId ?? options.rp.id, lie, true);
    const { format = 'none', certificates } = lie;
    const statement = new Map<string, Uint8Array | number>();
    if (certificates !== undefined) statement.set('alg', -7).set('sig', randomBytes(70));
    const attestationObject = encodeCbor(
      new Map<string, string | Uint8Array | Map<string, Uint8Array | number>>([
        ['fmt', format],
        ['attStmt', statement],
        ['authData', authData],
      ]),
    );
    return this.#printed(lie, {
      clientDataJSON: this.#clientData('webauthn.create', options.challenge, lie),
      attestationObject: attestationObject.toString('base64url'),
      transports: lie.transports ?? ['internal'],
    });
  }

  /** Answers `navigator.credentials.get()`. */
  get(options: RequestOptions, lie: Lie = {}) {
    if (this.#counter > 0) this.#counter += 1;
    const authData = this.#authenticatorData(lie.rpId ?? options.rpId, lie, false);
    const clientDataJSON = this.#clientData('webauthn.get', options.challenge, lie);
    const signed = Buffer.concat([authData, createHash('sha256').update(bytes(clientDataJSON)).digest()]);
    const signature = sign(this.#key.hash, signed, this.#key.privateKey);
    if (lie.forged) signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
    const handle = lie.userHandle === undefined ? this.#handle : lie.userHandle;
    return this.#printed(lie, {
      clientDataJSON,
      authenticatorData: authData.toString('base64url'),
      signature: signature.toString('base64url'),
      ...(handle === null ? {} : { userHandle: handle }),
    });
  }

  #printed<T>(lie: Lie, response: T) {
    const id = lie.id ?? this.id;
    const rest = { type: 'public-key', authenticatorAttachment: 'platform', clientExtensionResults: {} };
    return { id, rawId: id, ...rest, response };
  }

  #clientData(type: string, challenge: string, lie: Lie): string {
    const data = {
      type: lie.type ?? type,
      challenge: lie.challenge ?? challenge,
      origin: lie.origin ?? this.#origin,
      crossOrigin: lie.crossOrigin ?? false,
      ...(lie.topOrigin === undefined ? {} : { topOrigin: lie.topOrigin }),
    };
    return Buffer.from(JSON.stringify(data)).toString('base64url');
  }

  #authenticatorData(rpId: string, lie: Lie, withCredential: boolean): Buffer {
    const flags = [
      [lie.userPresent ?? true, 0x01],
      [lie.userVerified ?? true, 0x04],
      [lie.backupEligible ?? false, 0x08],
      [lie.backedUp ?? false, 0x10],
      [withCredential, 0x40],
    ] as const;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(lie.counter ?? this.#counter);
    const id = bytes(lie.id ?? this.id);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    return Buffer.concat([
      createHash('sha256').update(rpId).digest(),
      Buffer.from([flags.reduce((sum, [isSet, bit]) => (isSet ? sum | bit : sum), 0)]),
      counter,
      ...(withCredential
        ? [Buffer.alloc(16), length, id, lie.publicKey ? encodeCbor(lie.publicKey) : this.#key.cose]
        : []),
    ]);
  }
}
