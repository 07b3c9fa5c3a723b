import { equalDigests, keyedDigest } from '#src/platform/crypto/digest.js';
import type { Runtime } from '#src/platform/index.js';

/** Lifetime of a link to the mailbox, in seconds. */
const linkSeconds = 600;
/** Lifetime of an opened mailbox in a browser, in seconds. */
export const mailboxSeconds = 43_200;

/** Access of the operator to the mailbox in a browser. Tokens are signed with a derived master key, so the command needs no server. */
export interface MailboxAccess {
  /** A token for one link, which expires after ten minutes. */
  issue(): string;
  /** Redeems the token of a link once in this process. Returns the token of the browser; undefined if it is not valid. */
  redeem(token: string): string | undefined;
  /** True for the token of a browser that redeemed a link less than twelve hours ago. */
  admits(token: string): boolean;
}

type Kind = 'link' | 'browser';

/** Creates the access to the mailbox. */
export function createMailboxAccess({
  clock,
  random,
  sealing,
}: Pick<Runtime, 'clock' | 'random' | 'sealing'>): MailboxAccess {
  const key = sealing.derive('mailbox');
  /** Redeemed links until they expire. */
  const used = new Map<string, number>();
  const make = (kind: Kind, seconds: number): string => {
    const content = `${kind}.${clock.now() + seconds * 1000}.${random.id()}`;
    return `${content}.${keyedDigest(key(), content)}`;
  };
  const expiryOf = (kind: Kind, token: string): number | undefined => {
    const [, content = '', given = '', expires = '', mac = ''] = /^((\w+)\.(\d+)\.[\w-]+)\.([\w-]+)$/.exec(token) ?? [];
    if (!equalDigests(mac, keyedDigest(key(), content)) || given !== kind) return undefined;
    return Number(expires) > clock.now() ? Number(expires) : undefined;
  };
  return {
    issue: () => make('link', linkSeconds),
    redeem: (token) => {
      for (const [one, expires] of used) if (expires <= clock.now()) used.delete(one);
      const expires = expiryOf('link', token);
      if (expires === undefined || used.has(token)) return undefined;
      used.set(token, expires);
      return make('browser', mailboxSeconds);
    },
    admits: (token) => expiryOf('browser', token) !== undefined,
  };
}
