import { domainToASCII, domainToUnicode } from 'node:url';
import { z } from 'zod';

/** RFC 5321 §4.5.3.1: octets of the local part, and of the whole address. */
const longest = { local: 64, whole: 254 } as const;

const localPart = /^(?!\.)(?!.*\.\.)[A-Za-z0-9_'+.-]*[A-Za-z0-9_+-]$/;
/** RFC 1035 §2.3.4 and RFC 5890 §2.3.1; a top-level domain is not a number. */
const domainName =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:xn--[a-z0-9-]{0,58}[a-z0-9]|[a-z]{2,63})$/;
/** ASCII characters that are not allowed in a domain; Node's conversion would treat some as URL syntax. */
const foreignAscii = /[^A-Za-z0-9.\-\u0080-\u{10ffff}]/u;

/** The ASCII form of a domain, in lower case (UTS 46); undefined for anything that is not a domain. */
export function asciiDomain(domain: string): string | undefined {
  if (foreignAscii.test(domain)) return undefined;
  const ascii = domainToASCII(domain);
  // Rejects an encoded label that decodes to another one, because it would be a second spelling of the domain.
  return domainName.test(ascii) && domainToASCII(domainToUnicode(ascii)) === ascii ? ascii : undefined;
}

/** The form for comparing and storing an address: lower case, the domain in ASCII; undefined for anything that is not an address. */
export function asciiAddress(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, Math.max(at, 0)), asciiDomain(address.slice(at + 1))];
  if (domain === undefined || local.length > longest.local || !localPart.test(local)) return undefined;
  const ascii = `${local.toLowerCase()}@${domain}`;
  return ascii.length <= longest.whole ? ascii : undefined;
}

/** The stored form of an address to search for. Text that is not an address is returned unchanged. */
export function soughtAddress(typed: string): string {
  return asciiAddress(typed) ?? typed;
}

/** An email address; compared and stored in lower case, with the domain in ASCII. */
export const emailAddress = z
  .string()
  .max(320)
  .transform((typed, context) => {
    const ascii = asciiAddress(typed);
    if (ascii === undefined) context.addIssue({ code: 'custom', message: 'must be an email address' });
    return ascii ?? z.NEVER;
  })
  .meta({ format: 'email' });
