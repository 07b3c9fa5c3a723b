import { z } from 'zod';
import type { App } from './platform.js';
import { type Instant, required, visibleText } from './shapes.js';

/** A sentence on a page. */
const sentence = visibleText(300).nullable().default(null);

/** A colour of the pages. */
const color = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #0a7f5a')
  .nullable()
  .default(null);

/** An https address that a page links to; `{language}` is replaced with the language of the page. */
const link = visibleText(500).refine(isWebAddress, 'must be an https URL').nullable().default(null);

/** A login method that a project may switch off. */
const loginSwitch = (way: string) => z.boolean().default(true).describe(`Let users log in ${way}`);

/**
 * The settings of a project, with their defaults; `svc project update ID --set key=value` changes them and docs/settings.md lists them.
 * Null means the value from the installation's configuration.
 */
export const projectSettings = z.object({
  'api.reference': z
    .boolean()
    .nullable()
    .default(null)
    .describe(
      'Serve the API reference at /v1/docs and a page to run GraphQL at /v1/graphql, to everybody; null: while SVC_BASE_URL is on localhost',
    ),
  'session.days': z
    .int()
    .min(1)
    .max(365)
    .nullable()
    .default(null)
    .describe('Days a session lives; null: SVC_SESSION_DAYS'),
  'session.maxDays': z
    .int()
    .min(1)
    .max(3650)
    .default(365)
    .describe('Days after its beginning at which a session ends, however often it is extended'),
  'session.idleDays': z
    .int()
    .min(1)
    .max(365)
    .nullable()
    .default(null)
    .describe('Days without use after which a session ends; null: SVC_SESSION_IDLE_DAYS'),
  'session.limit': z.int().min(1).max(100).default(10).describe('Sessions a user may have; one more ends the oldest'),
  'session.alerts': z
    .boolean()
    .default(false)
    .describe('Tell users by mail of logins from a browser or system that they have not used for 30 days'),
  'cookie.sameSite': z
    .enum(['lax', 'none'])
    .default('lax')
    .describe('SameSite of the session cookie; none only over https, and then Origin is checked on every request'),
  'login.password': loginSwitch('by email address and password, and sign up with them'),
  'login.anonymous': loginSwitch('without any name'),
  'login.magicUrl': loginSwitch('by a link that is mailed'),
  'login.emailOtp': loginSwitch('by a code that is mailed'),
  'login.phone': loginSwitch('by a code that is sent by SMS'),
  'login.oauth2': loginSwitch('by providers of OAuth2 and OpenID Connect'),
  'login.saml': loginSwitch('by providers of SAML'),
  'login.passkey': loginSwitch('by passkey'),
  'login.token': loginSwitch('by tokens that server keys make'),
  'login.invitation': loginSwitch('by the link of an invitation to a team'),
  'files.maxBytes': z
    .int()
    .min(0)
    .max(1_125_899_906_842_624)
    .default(10_737_418_240)
    .describe('Bytes that all files may have together, those of unfinished uploads included'),
  'jwt.byKeys': z.boolean().default(true).describe('Let server keys make JWTs by which they act for users'),
  'passkeys.rpId': z
    .string()
    .max(253)
    .regex(
      /^(?=.*[a-z])[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
      'must be a domain name in lower case',
    )
    .nullable()
    .default(null)
    .describe(
      'Domain that passkeys belong to: the host of every page that uses them, or a parent of it; null: that of SVC_BASE_URL',
    ),
  'passkeys.userVerification': z
    .enum(['required', 'preferred'])
    .default('required')
    .describe('Whether a passkey has to verify its user, by PIN or biometrics, to log in without a second factor'),
  'pages.name': required(visibleText(128))
    .nullable()
    .default(null)
    .describe('Name on the pages to sign in with and in messages; null: the name of the project'),
  'pages.color': color.describe(
    'Colour of buttons and links on these pages; text in it gets darker or lighter until it can be read',
  ),
  'pages.background': color.describe('Colour behind these pages, which is darkened in dark mode; null: grey'),
  'pages.theme': z
    .enum(['auto', 'light', 'dark'])
    .default('auto')
    .describe('Light or dark pages; auto: as the browser asks'),
  'pages.radius': z.enum(['none', 'small', 'medium', 'large']).default('medium').describe('How round corners are'),
  'pages.font': z
    .enum(['system', 'rounded', 'serif', 'mono'])
    .default('system')
    .describe('Kind of font, of those that the device of the user has'),
  'pages.intro': sentence.describe('A sentence on the pages to sign in and to sign up'),
  'pages.intro.de': sentence.describe('The same on German pages; null: pages.intro'),
  'pages.intro.es': sentence.describe('The same on Spanish pages; null: pages.intro'),
  'pages.intro.fr': sentence.describe('The same on French pages; null: pages.intro'),
  'pages.intro.pt': sentence.describe('The same on Portuguese pages; null: pages.intro'),
  'pages.terms': link.describe('https URL of the terms of service; {language} in it becomes en, de, es, fr or pt'),
  'pages.privacy': link.describe('https URL of the privacy policy, likewise'),
  'signup.hideExisting': z
    .boolean()
    .default(false)
    .describe(
      'Answer a sign-up with a taken address like a successful one instead of 409, and tell the address by mail',
    ),
  'teams.hideMembers': z
    .boolean()
    .default(false)
    .describe('Show the email address, phone number and second factor of members to owners only'),
});

/** Settings of a project with every default filled in. */
export type ProjectSettings = z.output<typeof projectSettings>;

/** The settings that switch a login method. */
export type LoginSwitch = Extract<keyof ProjectSettings, `login.${string}`>;

/** A tenant of the installation, with its own users, keys, platforms and settings. */
export interface Project {
  readonly id: string;
  readonly name: string;
  readonly settings: ProjectSettings;
  /** The project's data key, wrapped by the master key; see `platform/crypto/sealing.ts`. */
  readonly dataKey: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** Hostnames whose pages may call the service with cookies; `*.example.com` is allowed. */
  readonly hostnames: readonly string[];
  /** Apps that may call the service in the same way. */
  readonly apps: readonly App[];
}

function isWebAddress(text: string): boolean {
  const address = text.replaceAll('{language}', 'en');
  if (/\s/.test(address) || !URL.canParse(address)) return false;
  const { protocol, username, password } = new URL(address);
  return protocol === 'https:' && username === '' && password === '';
}
