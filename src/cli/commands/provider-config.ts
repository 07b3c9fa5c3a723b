import type { OptionSpec, ParsedArgs } from '../line/command.js';
import { inputBytes, readSecretFile, readStdin, switchOption } from '../line/input.js';
import { usageError } from '../terminal/exit.js';

/** Flags that can be changed later. */
export const changeable = [
  { flag: '--client-id', value: 'ID', summary: 'id that the provider has given the application', group: 'OAuth2' },
  {
    flag: '--secret-file',
    value: 'FILE',
    summary: 'file with the client secret; for apple the private key as PEM',
    group: 'OAuth2',
  },
  { flag: '--secret-stdin', summary: 'reads the client secret from stdin', group: 'OAuth2' },
  { flag: '--scopes', value: 'SCOPES', summary: 'further scopes to ask for, separated by commas', group: 'OAuth2' },
  { flag: '--key-id', value: 'ID', summary: 'id of the private key of apple', group: 'OAuth2' },
  { flag: '--email-claim', value: 'NAME', summary: 'claim with the email address (default: email)', group: 'OAuth2' },
  {
    flag: '--email-verified-claim',
    value: 'NAME',
    summary: 'claim that is true if the address is verified (default: email_verified, without --email-claim)',
    group: 'OAuth2',
  },
  { flag: '--name-claim', value: 'NAME', summary: 'claim with the name (default: name)', group: 'OAuth2' },
  { flag: '--metadata-url', value: 'URL', summary: 'address of the metadata of the provider', group: 'SAML' },
  { flag: '--metadata-file', value: 'FILE', summary: 'file with that metadata', group: 'SAML' },
  { flag: '--sso-url', value: 'URL', summary: 'login page of the provider', group: 'SAML' },
  {
    flag: '--sso-binding',
    value: 'BINDING',
    summary: 'how requests are sent there (default: redirect, or as the metadata says)',
    choices: ['redirect', 'post'],
    group: 'SAML',
  },
  {
    flag: '--cert-file',
    value: 'FILE',
    summary: 'file with the signing certificates of the provider, as PEM; they replace the present ones',
    group: 'SAML',
  },
  {
    flag: '--email-domains',
    value: 'DOMAINS',
    summary: 'domains whose addresses count as verified, separated by commas',
    group: 'SAML',
  },
  { flag: '--email-attribute', value: 'NAME', summary: 'attribute with the email address', group: 'SAML' },
  { flag: '--name-attribute', value: 'NAME', summary: 'attribute with the name', group: 'SAML' },
  {
    flag: '--name-id-format',
    value: 'FORMAT',
    summary: 'form of the NameID to ask for (default: unspecified)',
    choices: ['unspecified', 'email', 'persistent'],
    group: 'SAML',
  },
  {
    ...switchOption('--sign-requests', 'on signs requests (default: on where the metadata wants it)'),
    group: 'SAML',
  },
  { ...switchOption('--idp-initiated', 'on lets the provider begin logins (default: off)'), group: 'SAML' },
  { flag: '--idp-initiated-page', value: 'URL', summary: 'page to which such logins lead', group: 'SAML' },
] as const satisfies readonly OptionSpec[];

/** Flags for a new provider only: they identify its users, or the built-in provider. */
export const fixed = [
  {
    flag: '--issuer',
    value: 'URL',
    summary: 'issuer (OpenID Connect), or address of a GitLab of your own',
    group: 'OAuth2',
  },
  { flag: '--tenant', value: 'TENANT', summary: 'tenant of microsoft (default: common)', group: 'OAuth2' },
  { flag: '--team-id', value: 'ID', summary: 'team of apple', group: 'OAuth2' },
  {
    flag: '--idp-entity-id',
    value: 'ID',
    summary: 'entity id of the provider; chooses one where the metadata has several',
    group: 'SAML',
  },
  {
    flag: '--uid-attribute',
    value: 'NAME',
    summary: 'attribute that identifies users (default: the NameID)',
    group: 'SAML',
  },
] as const satisfies readonly OptionSpec[];

/** Converts the flags to configuration members. Throws CommandError for flags of another kind of provider. */
export async function configFrom(
  args: ParsedArgs,
  options: readonly OptionSpec[],
  kind: string,
): Promise<Record<string, unknown>> {
  const own = kind === 'saml' ? 'SAML' : 'OAuth2';
  const foreign = options.find(
    ({ flag, group }) => group !== undefined && group !== own && isGiven(args, flag, options),
  );
  if (foreign !== undefined)
    throw usageError(`${foreign.flag} is not for providers of the kind ${kind}.`, `leave out ${foreign.flag}`);
  const text = (flag: `--${string}`) => (options.some((one) => one.flag === flag) ? args.text(flag) : undefined);
  const given = kind === 'saml' ? samlConfig(text) : await oauth2Config(args, text);
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

type Text = (flag: `--${string}`) => string | undefined;

async function oauth2Config(args: ParsedArgs, text: Text): Promise<Record<string, unknown>> {
  return {
    clientId: text('--client-id'),
    clientSecret: await secretOf(args),
    scopes: listOf(text('--scopes')),
    issuer: text('--issuer'),
    tenant: text('--tenant'),
    teamId: text('--team-id'),
    keyId: text('--key-id'),
    emailClaim: text('--email-claim'),
    emailVerifiedClaim: text('--email-verified-claim'),
    nameClaim: text('--name-claim'),
  };
}

function samlConfig(text: Text): Record<string, unknown> {
  const [url, file] = [text('--metadata-url'), text('--metadata-file')];
  if (url !== undefined && file !== undefined)
    throw usageError('--metadata-url and --metadata-file exclude each other.', 'give one of them');
  const certificates = text('--cert-file');
  const [initiated, signing] = [text('--idp-initiated'), text('--sign-requests')];
  return {
    metadataUrl: url,
    metadata: file === undefined ? undefined : readSecretFile(file, '--metadata-file', inputBytes.file),
    entityId: text('--idp-entity-id'),
    ssoUrl: text('--sso-url'),
    ssoBinding: text('--sso-binding'),
    certificates: certificates === undefined ? undefined : certificatesIn(certificates),
    nameIdFormat: text('--name-id-format'),
    uidAttribute: text('--uid-attribute'),
    emailAttribute: text('--email-attribute'),
    nameAttribute: text('--name-attribute'),
    emailDomains: listOf(text('--email-domains')),
    signRequests: signing === undefined ? undefined : signing === 'on',
    idpInitiated: initiated === undefined ? undefined : initiated === 'on',
    idpInitiatedPage: text('--idp-initiated-page'),
  };
}

function certificatesIn(file: string): string[] {
  const found = readSecretFile(file, '--cert-file', inputBytes.file).match(
    /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
  );
  if (found === null) throw usageError(`${file} has no certificate in PEM.`, 'give the file with BEGIN CERTIFICATE');
  return found;
}

function isGiven(args: ParsedArgs, flag: `--${string}`, options: readonly OptionSpec[]): boolean {
  const isSwitch = options.find((one) => one.flag === flag)?.value === undefined;
  return isSwitch ? args.isSet(flag) : args.text(flag) !== undefined;
}

function listOf(text: string | undefined): string[] | undefined {
  return text
    ?.split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

async function secretOf(args: ParsedArgs): Promise<string | undefined> {
  const file = args.text('--secret-file');
  const isPiped = args.isSet('--secret-stdin');
  if (file === undefined && !isPiped) return undefined;
  if (file !== undefined && isPiped)
    throw usageError('--secret-file and --secret-stdin exclude each other.', 'give one of them');
  const secret = file === undefined ? await readStdin('--secret-stdin') : readSecretFile(file, '--secret-file');
  if (secret.trim() === '')
    throw usageError('The client secret is empty.', 'a client without a secret is added without these flags');
  return secret;
}
