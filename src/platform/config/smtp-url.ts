import { z } from 'zod';
import { Secret } from './secret.js';

/** True for the URL of a mail server, with a login if it needs one and `ca` as the only parameter. */
function isSmtpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, searchParams, username, password } = new URL(text);
  const isPlain = ['', '/'].includes(pathname) && [...searchParams.keys()].every((name) => name === 'ca');
  if (/%(?![0-9a-f]{2})/i.test(username + password)) return false;
  return ['smtp:', 'smtps:'].includes(protocol) && hostname !== '' && isPlain;
}

/** Schema of the URL of a mail server. */
export const smtpUrl = z
  .string()
  .refine(isSmtpUrl, 'must be smtp://HOST or smtps://HOST, with USER:PASSWORD@ where the server asks for it')
  .transform((value) => new Secret(value));
