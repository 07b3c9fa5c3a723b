import { toProvider } from '#src/features/index.js';
import { findingLines } from '../doctor/finding.js';
import { notAChoice } from '../line/choices.js';
import { type ApplianceCall, type CommandResult, projectCommand } from '../line/command.js';
import { onOrOff, requireChange, switchOption } from '../line/options.js';
import { count } from '../terminal/count.js';
import { usageError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';
import { changeable, configFrom, configOptions } from './provider-config.js';

const keyArgument = { name: 'KEY', summary: 'key of the provider', values: 'provider' } as const;
const kinds = ['oauth2', 'oidc', 'saml'];
const name = { flag: '--name', value: 'NAME', summary: 'display name (default: the key)' } as const;
const enabled = switchOption('--enabled', 'off refuses logins by the provider (default: on)');

const add = projectCommand({
  path: 'provider add',
  summary: 'Adds a login provider and prints the addresses to register there',
  arguments: [
    {
      name: 'KIND',
      summary:
        'oauth2 for a built-in provider such as google, oidc for any other with OpenID Connect, saml for SAML 2.0',
      choices: kinds,
    },
  ],
  options: [
    {
      flag: '--key',
      value: 'KEY',
      summary: 'key of the provider in addresses; for oauth2 the name of a built-in provider',
      required: true,
    },
    name,
    enabled,
    ...configOptions,
  ],
  examples: [
    `printf 'the secret' | svc provider add oauth2 --project shop --key github --client-id Iv1.0123 --secret-stdin`,
    `printf 'the secret' | svc provider add oidc --project shop --key corp --issuer https://id.example.com --client-id shop --secret-stdin --json`,
    `printf 'the secret' | svc provider add oauth2 --project shop --key google --client-id 1234.apps.example --secret-stdin`,
  ],
  run: async (call) => {
    const { args, features, work } = call;
    const project = await call.findProject();
    const [key, kind] = [args.required('--key'), args.argument('KIND')];
    if (!kinds.includes(kind)) throw notAChoice('KIND', kind, kinds);
    const given = await configFrom(args, configOptions, kind);
    const missing = missingIn(given, kind);
    if (missing !== undefined)
      throw usageError(
        missing,
        `register the application at the provider, with ${addressesText(call, kind, project.id, key)}`,
      );
    const config = await features.providers.prepare(kind, given);
    const input = { key, kind, name: args.text('--name'), ...onOrOff(args, enabled), config };
    const added = await work(project.id, (unit) => features.providers.add(unit, project, input));
    return { ...shown(call, added), ...secretStep(call, added) };
  },
});

const list = projectCommand({
  path: 'provider list',
  summary: 'Lists the login providers of a project',
  examples: ['svc provider list --project shop', 'svc provider list --project shop --json'],
  run: async (call) => {
    const { runtime, features } = call;
    const found = await features.providers.list(runtime.db, await call.findProject());
    return {
      value: { total: found.length, providers: found.map((one) => toProvider(one, features.providers.show(one))) },
      text: columns(
        ['KEY', 'KIND', 'NAME', 'ENABLED'],
        found.map((one) => [one.key, one.kind, one.name, one.enabled ? 'on' : 'off']),
      ),
    };
  },
});

const show = projectCommand({
  path: 'provider show',
  summary: 'Shows a login provider without its secret',
  arguments: [keyArgument],
  examples: ['svc provider show github --project shop', 'svc provider show corp --project shop --json'],
  run: async (call) => shown(call, (await findProvider(call)).provider),
});

const update = projectCommand({
  path: 'provider update',
  summary: 'Changes a login provider. Running servers apply the change at the next login',
  arguments: [keyArgument],
  options: [name, enabled, ...changeable],
  examples: [
    'svc provider update corp --project shop --name "Example Corp" --scopes groups',
    'svc provider update google --project shop --enabled off --json',
  ],
  run: async (call) => {
    const { args, features, work } = call;
    const { project, provider } = await findProvider(call);
    const { key, kind, config: before } = provider;
    const config = await features.providers.prepare(kind, await configFrom(args, changeable, kind), before);
    const input = {
      name: args.text('--name'),
      ...onOrOff(args, enabled),
      config: Object.keys(config).length === 0 ? undefined : config,
    };
    requireChange(input, 'give at least one flag; svc provider update --help lists them');
    return shown(call, await work(project.id, (unit) => features.providers.update(unit, project, key, input)));
  },
});

const remove = projectCommand({
  path: 'provider remove',
  summary: 'Removes a login provider and the identities of users at it. The users stay',
  arguments: [keyArgument],
  examples: ['svc provider remove google --project shop --yes', 'svc provider remove corp --project shop --yes --json'],
  run: async (call) => {
    const { runtime, features, prompts, work } = call;
    const { project, provider } = await findProvider(call);
    const { key } = provider;
    const users = await features.identities.countAt(runtime.db, project, key);
    const use = users === 0 ? 'No user signs in with it' : `${count(users, 'user signs', 'users sign')} in with it`;
    await prompts.confirm(`${use}. Remove provider ${key}?`);
    await work(project.id, (unit) => features.providers.remove(unit, project, key));
    return { value: { $id: key, removed: true, identities: users }, text: `Provider ${key} is removed.` };
  },
});

const testIt = projectCommand({
  path: 'provider test',
  summary: 'Calls a login provider and shows what keeps its logins from working, now or soon, and what to do about it',
  arguments: [keyArgument],
  examples: [
    'svc provider test corp --project shop || svc provider show corp --project shop',
    'svc provider test corp --project shop --json || true',
  ],
  run: async (call) => {
    const { provider } = await findProvider(call);
    const found = await call.features.providers.test(provider);
    const findings = found.map((finding) => ({ ...finding, fix: call.output.named(finding.fix) }));
    const ok = !findings.some(({ level }) => level === 'error');
    const text = findings.length === 0 ? foundNothing(provider) : findingLines(findings);
    return { value: { ok, findings }, text, exitCode: ok ? 0 : 1 };
  },
});

/** `svc provider …` */
export const providerCommands = [add, list, show, update, testIt, remove];

/** Explains the tests of a provider without findings, and the parts that only a login tests. */
function foundNothing({ key, kind }: Provider): string {
  return kind === 'saml'
    ? `Nothing wrong was found with the provider ${key}: its metadata, certificates and login page were tried. Attributes and signatures are tried by a login only.`
    : `Nothing wrong was found with the provider ${key}: its addresses and keys were tried. Whether it takes the client id, the secret and the redirect URI shows with a login only.`;
}

type Provider = Awaited<ReturnType<ApplianceCall['features']['providers']['get']>>;

/** Finds the project and the provider of a command. Throws Failure. */
async function findProvider({ args, runtime, features, findProject }: ApplianceCall) {
  const project = await findProject();
  return { project, provider: await features.providers.get(runtime.db, project, args.argument('KEY')) };
}

function shown({ features }: ApplianceCall, provider: Provider): CommandResult {
  const { key, kind, projectId } = provider;
  const addresses = features.providers.addresses(kind, projectId, key);
  const config = features.providers.show(provider);
  return {
    // No conflict: `entityId` is that of the SAML provider; that of svc is `spEntityId`.
    value: { ...toProvider(provider, config), ...addresses },
    text: pairs([
      ['key', key],
      ['kind', kind],
      ['name', provider.name],
      ['enabled', provider.enabled ? 'on' : 'off'],
      ...Object.entries({ ...config, ...addresses }).flatMap(([member, one]) =>
        one === undefined ? [] : [[labels[member] ?? member, print(one)] as const],
      ),
    ]),
  };
}

/** Suggests a secret for a client without one: most providers issue one to every application on a server. */
function secretStep({ features }: ApplianceCall, provider: Provider): Pick<CommandResult, 'next'> {
  if (features.providers.show(provider).hasSecret !== false) return {};
  const { key, projectId } = provider;
  return {
    next: `svc provider update ${key} --project ${projectId} --secret-file FILE, unless the application is a public client without a secret`,
  };
}

/** The URLs to register at a provider, for an operator who must do that first. */
function addressesText({ features }: ApplianceCall, kind: string, projectId: string, key: string): string {
  const addresses = Object.entries(features.providers.addresses(kind, projectId, key));
  return addresses.map(([member, address]) => `${labels[member] ?? member} ${address}`).join(', ');
}

/** The flags that a new provider lacks; undefined if the given ones describe it completely. */
function missingIn(given: Readonly<Record<string, unknown>>, kind: string): string | undefined {
  if (kind !== 'saml') return given.clientId === undefined ? `--client-id is required for ${kind}.` : undefined;
  const hasAll = ['entityId', 'ssoUrl', 'certificates'].every((member) => member in given);
  return 'metadata' in given || 'metadataUrl' in given || hasAll
    ? undefined
    : 'A SAML provider needs --metadata-url or --metadata-file, or --idp-entity-id, --sso-url and --cert-file.';
}

function print(value: unknown): string {
  if (Array.isArray(value)) return value.map(print).join(', ');
  if (typeof value === 'object' && value !== null) return Object.values(value).map(print).join(' until ');
  return value === true ? 'yes' : value === false ? 'no' : String(value);
}

const labels: Readonly<Record<string, string>> = {
  clientId: 'client id',
  hasSecret: 'has a secret',
  teamId: 'team id',
  keyId: 'key id',
  scopes: 'further scopes',
  callbackUrl: 'callback URL',
  entityId: 'IdP entity id',
  ssoUrl: 'login page',
  ssoBinding: 'sends requests by',
  metadataUrl: 'IdP metadata',
  nameIdFormat: 'NameID format',
  uidAttribute: 'uid attribute',
  emailAttribute: 'email attribute',
  nameAttribute: 'name attribute',
  emailDomains: 'email domains',
  signRequests: 'signed requests',
  idpInitiated: 'IdP-initiated',
  idpInitiatedPage: 'IdP-initiated page',
  spEntityId: 'SP entity id',
  acsUrl: 'ACS URL',
};
