import { createRequire } from 'node:module';
import { latestPast } from '#src/platform/clock.js';
import type { Random } from '#src/platform/random.js';

const stepSeconds = 30;
/** An app shows the issuer before a colon, so that the name itself must not have one. */
const withoutColon = (name: string) => name.replaceAll(':', ' ').trim();

/** Codes of authenticator apps (RFC 6238): SHA-1, six digits, 30 seconds, as every app can do them. */
export function createTotp(random: Pick<Random, 'bytes'>) {
  const require = createRequire(import.meta.url);
  let loaded: typeof import('otplib') | undefined;
  /** Loads the package at the first code. Not by `import()`: a unit of work cannot wait for it. */
  const otplib = () => {
    loaded ??= require('otplib') as typeof import('otplib');
    return loaded;
  };
  return {
    /** A seed of 160 bits in base32. */
    newSeed: (): string => new (otplib().ScureBase32Plugin)().encode(random.bytes(20)),
    /** What an app reads from a QR code. */
    uri: (seed: string, issuer: string, label: string): string =>
      otplib().generateURI({ secret: seed, issuer: withoutColon(issuer), label: withoutColon(label) }),
    /** The step that a code of six digits belongs to: now, or the one before or after; undefined where it is wrong or spent. */
    stepOf: (seed: string, code: string, nowMs: number, lastStep: number): number | undefined => {
      const epoch = Math.floor(nowMs / 1000);
      // A step that cannot have come yet was spent before the clock was set back: it must not lock the user out until it comes again.
      const latestStep = Math.floor(latestPast(nowMs) / 1000 / stepSeconds) + 1;
      const spent = lastStep > latestStep ? 0 : lastStep;
      // The package throws where nothing in its window is left.
      if (spent > Math.floor(epoch / stepSeconds)) return undefined;
      const options = { secret: seed, token: code, epoch, epochTolerance: stepSeconds, afterTimeStep: spent };
      const result = otplib().verifySync(options);
      return result.valid && 'timeStep' in result ? result.timeStep : undefined;
    },
  };
}

/** Codes of authenticator apps. */
export type Totp = ReturnType<typeof createTotp>;
