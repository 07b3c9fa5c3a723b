// Every hosted page, as a visitor can meet it, and what a project can make of them.
import { deflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { aUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { changeSettings } from '../harness/project.js';
import { addProvider } from '../oauth2/setup.js';

/** What follows the address of a page when a form is refused. */
export const error = (type: string) => `&error=${type}`;
const link = '&userId=somebody&secret=something';

/** The pages below `/v1/auth/`, by the names of their pictures. */
export const hostedPages: readonly { readonly name: string; readonly path: string }[] = [
  { name: 'sign-in', path: 'sign-in?project=main' },
  { name: 'sign-in-refused', path: `sign-in?project=main${error('user_invalid_credentials')}` },
  { name: 'sign-up', path: 'sign-up?project=main' },
  { name: 'email', path: 'email?project=main' },
  { name: 'phone', path: 'phone?project=main' },
  { name: 'code', path: 'code?project=main&userId=somebody&notice=sent' },
  { name: 'link', path: `link?project=main${link}` },
  { name: 'second-factor', path: 'second-factor?project=main' },
  { name: 'recovery', path: 'recovery?project=main' },
  { name: 'reset', path: `reset?project=main${link}` },
  { name: 'verify', path: `verify?project=main${link}` },
  { name: 'remove-address', path: `remove-address?project=main${link}` },
  { name: 'verified', path: 'verified?project=main' },
  { name: 'invitation', path: `invitation?project=main&teamId=team&membershipId=place${link}` },
  { name: 'failed', path: `failed?project=main${error('user_oauth2_unauthorized')}` },
  { name: 'sign-out', path: 'sign-out?project=main' },
  { name: 'done', path: 'done?project=main' },
];

/** The pages of the account, for a browser that is signed in. */
export const accountPages: readonly { readonly name: string; readonly path: string }[] = [
  'account',
  ...['name', 'email', 'phone', 'phone-code', 'password', 'authenticator', 'codes', 'delete'].map(
    (part) => `account-${part}`,
  ),
].map((name) => ({ name, path: `${name}?project=main` }));

/** Signs in on the page, as a new user. */
export async function signInOn(page: Page, service: TestAppliance, endpoint: string): Promise<void> {
  const { email, password } = await aUser(service, { name: 'Anna Meyer' });
  await page.goto(`${endpoint}/auth/sign-in?project=main`);
  await page.fill('#email', email);
  await page.fill('#password', password);
  await page.click('button.main');
  await page.waitForURL('**/auth/done?**');
}

/** Adds an identity provider to the project, which the sign-in page names. */
export function withProvider(target: TestAppliance) {
  const config = { issuer: 'https://id.example.com', clientId: 'shop' };
  return addProvider(target, { key: 'corp', kind: 'oidc', name: 'Example Corp', config });
}

/** Gives the pages of the project a name, a colour, texts, links and a logo. */
export async function brand(target: TestAppliance, color: string): Promise<void> {
  const { appliance, project, clock } = target;
  const { runtime, features } = appliance;
  await changeSettings(target, {
    'pages.name': 'The Fruit Shop',
    'pages.color': color,
    'pages.intro': 'Fresh every day.',
    'pages.intro.de': 'Jeden Tag frisch.',
    'pages.terms': 'https://shop.example.com/{language}/terms',
    'pages.privacy': 'https://shop.example.com/{language}/privacy',
  });
  const by = { projectId: project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  await runtime.db.work(by, (unit) => features.logos.set(unit, project, aLogo(color)));
  clock.advance(1000);
}

/** A disc in this colour, 64 pixels wide, as PNG (RFC 2083). */
function aLogo(color: string): Buffer {
  const size = 64;
  const disc = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  const row = (y: number) => [
    0,
    ...Array.from({ length: size }, (_, x) =>
      Math.hypot(x - size / 2, y - size / 2) < size / 2 - 1 ? [...disc, 255] : [0, 0, 0, 0],
    ).flat(),
  ];
  const pixels = Buffer.from(Array.from({ length: size }, (_, y) => row(y)).flat());
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  // Eight bits of red, green, blue and alpha.
  head.set([8, 6, 0, 0, 0], 8);
  const chunks = [chunk('IHDR', head), chunk('IDAT', deflateSync(pixels)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

function crc32(data: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of data) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}
