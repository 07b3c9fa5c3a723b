import { createRequire } from 'node:module';
import type { Random } from '#src/platform/crypto/random.js';
import { latestPast } from '#src/platform/runtime/clock.js';

const stepSeconds = 30;
/** Apps show the issuer before a colon, so names must not contain one. */
const withoutColon = (name: string) => name.replaceAll(':', ' ').trim();

/** Codes of authenticator apps. */
export interface Totp {
  /** Generates a seed of 160 bits in base32. */
  newSeed(): string;
  /** URI for the QR code that apps scan. */
  uri(seed: string, issuer: string, label: string): string;
  /** The time step of a six-digit code: the current one, the one before or the one after. Undefined if the code is wrong or was used. */
  stepOf(seed: string, code: string, nowMs: number, lastStep: number): number | undefined;
}

/** Codes of authenticator apps (RFC 6238) with SHA-1, six digits and 30 seconds, which every app supports. */
export function createTotp(random: Pick<Random, 'bytes'>): Totp {
  const require = createRequire(import.meta.url);
  let loaded: typeof import('otplib') | undefined;
  /** Loads the package when first needed. Not with `import()`, because a unit of work cannot wait for it. */
  const otplib = () => {
    loaded ??= require('otplib') as typeof import('otplib');
    return loaded;
  };
  return {
    newSeed: () => new (otplib().ScureBase32Plugin)().encode(random.bytes(20)),
    uri: (seed, issuer, label) =>
      otplib().generateURI({ secret: seed, issuer: withoutColon(issuer), label: withoutColon(label) }),
    stepOf: (seed, code, nowMs, lastStep) => {
      const epoch = Math.floor(nowMs / 1000);
      // A last step in the future was used before the clock was set back. It must not lock the user out until that time comes again.
      const latestStep = Math.floor(latestPast(nowMs) / 1000 / stepSeconds) + 1;
      const spent = lastStep > latestStep ? 0 : lastStep;
      // The package throws if no step is left in its window.
      if (spent > Math.floor(epoch / stepSeconds)) return undefined;
      const options = {
        secret: seed,
        token: code,
        epoch,
        epochTolerance: stepSeconds,
        afterTimeStep: spent,
        // Seeds of some products have 80 bits; those made here have 160.
        guardrails: otplib().createGuardrails({ MIN_SECRET_BYTES: 10 }),
      };
      const result = otplib().verifySync(options);
      return result.valid && 'timeStep' in result ? result.timeStep : undefined;
    },
  };
}
