import type { OptionSpec, ParsedArgs } from '../line/command.js';
import { commaList, inputBytes, readSecretFile, readStdin } from '../line/input.js';
import { inGroup, memberOf, switchOption } from '../line/options.js';
import { usageError } from '../terminal/exit.js';

/** Flags that can be changed later. */
export const changeable: readonly OptionSpec[] = [
  ...inGroup('OAuth2', [
    { flag: '--client-id', value: 'ID', summary: 'id that the provider has given the application' },
    { flag: '--secret-file', value: 'FILE', summary: 'file with the client secret; for apple the private key as PEM' },
    { flag: '--secret-stdin', summary: 'reads the client secret from stdin' },
    { flag: '--scopes', value: 'SCOPES', summary: 'further scopes to ask for, separated by commas' },
    { flag: '--key-id', value: 'ID', summary: 'id of the private key of apple' },
    { flag: '--email-claim', value: 'NAME', summary: 'claim with the email address (default: email)' },
    {
      flag: '--email-verified-claim',
      value: 'NAME',
      summary: 'claim that is true if the address is verified (default: email_verified, without --email-claim)',
    },
    { flag: '--name-claim', value: 'NAME', summary: 'claim with the name (default: name)' },
  ]),
  ...inGroup('SAML', [
    { flag: '--metadata-url', value: 'URL', summary: 'address of the metadata of the provider' },
    { flag: '--metadata-file', value: 'FILE', summary: 'file with that metadata' },
    { flag: '--sso-url', value: 'URL', summary: 'login page of the provider' },
    {
      flag: '--sso-binding',
      value: 'BINDING',
      summary: 'how requests are sent there (default: redirect, or as the metadata says)',
      choices: ['redirect', 'post'],
    },
    {
      flag: '--cert-file',
      value: 'FILE',
      summary: 'file with the signing certificates of the provider, as PEM; they replace the present ones',
    },
    {
      flag: '--email-domains',
      value: 'DOMAINS',
      summary: 'domains whose addresses count as verified, separated by commas',
    },
    { flag: '--email-attribute', value: 'NAME', summary: 'attribute with the email address' },
    { flag: '--name-attribute', value: 'NAME', summary: 'attribute with the name' },
    {
      flag: '--name-id-format',
      value: 'FORMAT',
      summary: 'form of the NameID to ask for (default: unspecified)',
      choices: ['unspecified', 'email', 'persistent'],
    },
    switchOption('--sign-requests', 'on signs requests (default: on where the metadata wants it)'),
    switchOption('--idp-initiated', 'on lets the provider begin logins (default: off)'),
    { flag: '--idp-initiated-page', value: 'URL', summary: 'page to which such logins lead' },
  ]),
];

/** Flags of a new provider. Those that identify its users, or the built-in provider, cannot be changed later. */
export const configOptions: readonly OptionSpec[] = [
  ...changeable,
  ...inGroup('OAuth2', [
    { flag: '--issuer', value: 'URL', summary: 'issuer (OpenID Connect), or address of a GitLab of your own' },
    { flag: '--tenant', value: 'TENANT', summary: 'tenant of microsoft (default: common)' },
    { flag: '--team-id', value: 'ID', summary: 'team of apple' },
  ]),
  ...inGroup('SAML', [
    {
      flag: '--idp-entity-id',
      value: 'ID',
      summary: 'entity id of the provider; chooses one where the metadata has several',
    },
    { flag: '--uid-attribute', value: 'NAME', summary: 'attribute that identifies users (default: the NameID)' },
  ]),
];

/** Converts the flags to configuration members. Throws CommandError for flags of another kind of provider. */
export async function configFrom(
  args: ParsedArgs,
  options: readonly OptionSpec[],
  kind: string,
): Promise<Record<string, unknown>> {
  const own = kind === 'saml' ? 'SAML' : 'OAuth2';
  const given = options.filter(({ flag }) => args.isGiven(flag));
  const foreign = given.find(({ group }) => group !== own);
  if (foreign !== undefined)
    throw usageError(`${foreign.flag} is not for providers of the kind ${kind}.`, `leave out ${foreign.flag}`);
  if (args.isGiven('--metadata-url') && args.isGiven('--metadata-file'))
    throw usageError('--metadata-url and --metadata-file exclude each other.', 'give one of them');
  const secret = await secretOf(args);
  const members = given.filter(({ flag }) => !flag.startsWith('--secret-')).map(({ flag }) => memberFrom(args, flag));
  return { ...Object.fromEntries(members), ...(secret === undefined ? {} : { clientSecret: secret }) };
}

/** The configuration member that a flag sets, and its value. */
function memberFrom(args: ParsedArgs, flag: `--${string}`): readonly [string, unknown] {
  const text = args.required(flag);
  switch (flag) {
    case '--idp-entity-id':
      return ['entityId', text];
    case '--metadata-file':
      return ['metadata', readSecretFile(text, flag, inputBytes.file)];
    case '--cert-file':
      return ['certificates', certificatesIn(text)];
    case '--scopes':
    case '--email-domains':
      return [memberOf(flag), commaList(text).filter((one) => one !== '')];
    case '--sign-requests':
    case '--idp-initiated':
      return [memberOf(flag), text === 'on'];
    default:
      return [memberOf(flag), text];
  }
}

function certificatesIn(file: string): string[] {
  const found = readSecretFile(file, '--cert-file', inputBytes.file).match(
    /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
  );
  if (found === null) throw usageError(`${file} has no certificate in PEM.`, 'give the file with BEGIN CERTIFICATE');
  return found;
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
