import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Failure } from '#src/contract/errors.js';
import { passwordSize } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { lazy } from '#src/platform/runtime/lazy.js';

/** A password in a request: any characters, at most 256 of them and 1024 bytes; normalised to NFC, never trimmed or cut. */
export const passwordText = z
  .string()
  .max(2 * passwordSize.codePoints)
  .transform((value) => value.normalize('NFC'))
  .refine((value) => [...value].length <= passwordSize.codePoints && Buffer.byteLength(value) <= passwordSize.bytes, {
    message: `must be at most ${passwordSize.codePoints} characters and ${passwordSize.bytes} bytes`,
  });

const breachTimeoutMs = 2000;
const breachBytes = 262_144;

/** Values of the user and the project that a password must not equal. */
interface PasswordOwner {
  readonly email?: string | null;
  readonly name?: string;
  readonly projectName: string;
}

/** Requirements for new passwords. */
export interface PasswordPolicy {
  /** Throws Failure `password_policy_violation` if the password is not acceptable. Not inside a unit of work. */
  check(password: string, owner: PasswordOwner): Promise<void>;
}

/** Checks a new password against the minimum length, common passwords, the owner's own data and, if configured, known breaches. */
export function createPasswordPolicy({
  config,
  egress,
  log,
}: Pick<Runtime, 'config' | 'egress' | 'log'>): PasswordPolicy {
  const common = lazy(async () => {
    const { dictionary } = await import('@zxcvbn-ts/language-common');
    return new Set(dictionary['passwords-common']);
  });
  const violation = (detail: 'short' | 'common' | 'own' | 'breached', message: string) =>
    new Failure('password_policy_violation', { message, detail });

  /** k-anonymity: only five characters of the SHA-1 leave the process, and the response is padded. */
  const isBreached = async (password: string): Promise<boolean> => {
    const hash = createHash('sha1').update(password).digest('hex').toUpperCase();
    try {
      const answer = await egress.request({
        method: 'GET',
        url: config.breachUrl + hash.slice(0, 5),
        headers: { 'add-padding': 'true' },
        purpose: 'breach-check',
        timeoutMs: breachTimeoutMs,
        maxBytes: breachBytes,
      });
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      const line = answer.body
        .toString('latin1')
        .split(/\r?\n/)
        .find((entry) => entry.toUpperCase().startsWith(`${hash.slice(5)}:`));
      return line !== undefined && Number(line.split(':')[1]) > 0;
    } catch (error) {
      log.warn('breach-check.failed', {
        reason: error instanceof Error ? error.name : 'unknown',
        strict: config.breachCheck === 'strict',
      });
      if (config.breachCheck === 'strict') throw new Failure('general_unavailable', { retryAfter: 5, cause: error });
      return false;
    }
  };

  return {
    check: async (password, owner) => {
      const length = [...password].length;
      if (length < config.passwordMinLength)
        throw violation('short', `The password must have at least ${config.passwordMinLength} characters.`);
      const lower = password.toLowerCase();
      if ((await common.get()).has(lower)) throw violation('common', 'This password is one of the most common ones.');
      const own = [owner.email?.split('@')[0], owner.email, owner.name, owner.projectName];
      if (own.some((value) => value !== undefined && value !== null && value !== '' && value.toLowerCase() === lower)) {
        throw violation('own', 'The password must not be your own name or address.');
      }
      if (config.breachCheck !== 'off' && (await isBreached(password))) {
        throw violation('breached', 'This password is known from a data breach.');
      }
    },
  };
}
