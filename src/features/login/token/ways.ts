/** How a session is called that came by a secret of a purpose, what the secret proved, and which address it went to. */
interface Way {
  readonly provider: string;
  readonly factor: string;
  readonly contact?: 'email' | 'phone';
}

/** What secrets that log in are good for. */
export type LoginPurpose = 'magic-link' | 'email-code' | 'phone-code' | 'server-token';

/** Every purpose that logs in. */
export const ways: Readonly<Record<LoginPurpose, Way>> = {
  'magic-link': { provider: 'magic-url', factor: 'email', contact: 'email' },
  'email-code': { provider: 'token', factor: 'email', contact: 'email' },
  'phone-code': { provider: 'phone', factor: 'phone', contact: 'phone' },
  'server-token': { provider: 'token', factor: 'token' },
};

/** The same as a list. */
export const loginPurposes = Object.keys(ways) as readonly LoginPurpose[];
