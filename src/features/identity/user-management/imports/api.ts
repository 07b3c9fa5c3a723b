import { z } from 'zod';
import { declare, json, serverKeys } from '#src/contract/declaration.js';
import { emailAddress } from '#src/contract/email-address.js';
import { bodySizes } from '#src/contract/limits.js';
import { displayName, newId } from '#src/contract/shapes.js';
import { shaVersions } from '#src/platform/crypto/foreign-hashes/hash.js';
import { creationTimes } from '../../users/index.js';
import { managedUserShape } from '../model/view.js';

const common = {
  tag: 'users',
  method: 'POST',
  access: serverKeys('users.write'),
  limits: { calls: 'data', bodyBytes: bodySizes.account },
  reply: { status: 201, shape: json(managedUserShape), errors: ['user_already_exists'] },
} as const;
const text = (description: string) => z.string().max(1024).meta({ description });
const person = z.object({
  userId: newId,
  email: emailAddress,
  password: text('The hash as the other product stores it'),
  name: displayName.nullish().transform((name) => name ?? ''),
  ...creationTimes,
});
const number = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

/** Imports of users from other products. Users keep their passwords; the hash is replaced at the first login. */
export const importsApi = declare({
  bcrypt: {
    ...common,
    id: 'users.createBcryptUser',
    path: '/users/bcrypt',
    summary: 'Creates a user with a bcrypt hash.',
    input: { body: person },
  },
  argon2: {
    ...common,
    id: 'users.createArgon2User',
    path: '/users/argon2',
    summary: 'Creates a user with an Argon2 hash in the PHC format.',
    input: { body: person },
  },
  md5: {
    ...common,
    id: 'users.createMd5User',
    path: '/users/md5',
    summary: 'Creates a user with an MD5 hash in hexadecimal.',
    input: { body: person },
  },
  phpass: {
    ...common,
    id: 'users.createPhpassUser',
    path: '/users/phpass',
    summary: 'Creates a user with a phpass hash, as WordPress has them.',
    input: { body: person },
  },
  sha: {
    ...common,
    id: 'users.createShaUser',
    path: '/users/sha',
    summary: 'Creates a user with a SHA hash in hexadecimal.',
    input: { body: person.extend({ passwordVersion: z.enum(shaVersions).nullish() }) },
  },
  scrypt: {
    ...common,
    id: 'users.createScryptUser',
    path: '/users/scrypt',
    summary: 'Creates a user with a scrypt hash in hexadecimal.',
    input: {
      body: person.extend({
        passwordSalt: text('The salt, as text'),
        passwordCpu: number.meta({ description: 'N' }),
        passwordMemory: number.meta({ description: 'r' }),
        passwordParallel: number.meta({ description: 'p' }),
        passwordLength: number.meta({ description: 'Bytes of the key' }),
      }),
    },
  },
  scryptModified: {
    ...common,
    id: 'users.createScryptModifiedUser',
    path: '/users/scrypt-modified',
    summary: 'Creates a user with a hash of Firebase.',
    input: {
      body: person.extend({
        passwordSalt: text('The salt, base64'),
        passwordSaltSeparator: text('The salt separator, base64'),
        passwordSignerKey: text('The signer key, base64'),
      }),
    },
  },
});
