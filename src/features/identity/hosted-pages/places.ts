import type { Failure } from '#src/contract/errors.js';
import { addressBelow } from '#src/contract/web-address.js';
import { linkTo } from '../one-time-secrets/index.js';
import type { PageTexts } from './texts/en.js';

/** The hosted pages by the last part of their address, each with the name of its heading. */
export const pageHeadings = {
  'sign-in': 'sign-in',
  'sign-up': 'sign-up',
  email: 'email-page',
  phone: 'phone-page',
  code: 'code-page',
  link: 'link-page',
  'second-factor': 'second-factor',
  recovery: 'recovery',
  reset: 'reset',
  verify: 'verify',
  verified: 'verified',
  'remove-address': 'remove-address',
  invitation: 'invitation',
  failed: 'failed-page',
  done: 'done',
  'sign-out': 'sign-out',
  account: 'account',
  'account-name': 'account-name',
  'account-email': 'account-email',
  'account-phone': 'account-phone',
  'account-phone-code': 'account-phone-code',
  'account-password': 'account-password',
  'account-authenticator': 'account-authenticator',
  'account-codes': 'account-codes',
  'account-delete': 'account-delete',
} as const satisfies Readonly<Record<string, keyof PageTexts>>;

/** A hosted page. */
export type PageName = keyof typeof pageHeadings;

/** True for pages that users see first; they show the intro and the identity providers of the project. */
export function isEntrance(name: PageName): boolean {
  return name === 'sign-in' || name === 'sign-up';
}

/** True for pages that show the account of the user. */
export function isAccountPage(name: PageName): boolean {
  return name === 'account' || name.startsWith('account-');
}

/** The hosted page at an address; undefined for any other address. */
export function pageAt(baseUrl: string, address: URL): PageName | undefined {
  const { origin, pathname } = addressBelow(baseUrl, 'auth/');
  if (address.origin !== origin || !address.pathname.startsWith(pathname)) return undefined;
  const name = address.pathname.slice(pathname.length);
  return Object.hasOwn(pageHeadings, name) ? (name as PageName) : undefined;
}

/**
 * The address of a hosted page that tells its visitor of an error: the page itself with the type of the error, or the page that asks for
 * the second factor. Undefined for pages of the application.
 */
export function hostedErrorAddress(baseUrl: string, page: URL, { type, secondFactors }: Failure): string | undefined {
  const name = pageAt(baseUrl, page);
  if (name === undefined) return undefined;
  if (type !== 'user_more_factors_required') return linkTo(page, { error: type });
  const project = page.searchParams.get('project') ?? '';
  // An invitation is not accepted yet: its page comes again after the second factor.
  const success = name === 'invitation' ? page.href : (page.searchParams.get('success') ?? '');
  return addressBelow(baseUrl, 'auth/second-factor', { project, success, factors: secondFactors.join(',') }).href;
}
