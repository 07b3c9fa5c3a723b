import { toProvider } from '#src/features/index.js';
import { type ApplianceCall, command, type OptionSpec, type ParsedArgs, projectOption } from '../command.js';
import type { CommandResult } from '../command-result.js';
import { usageError } from '../exit.js';
import { onOrOff, readSecretFile, readStdin, switchOption } from '../input.js';
import { columns, pairs } from '../output.js';

const keyArgument = { name: 'KEY', summary: 'key of the provider' } as const;
const name = { flag: '--name', value: 'NAME', summary: 'display name (default: the key)' } as const;
const enabled = switchOption('--enabled', 'off refuses logins by the provider (default: on)');
const clientId = {
  flag: '--client-id',
  value: 'ID',
  summary: 'id that the provider has given the application',
} as const;
const client = [
  {
    flag: '--secret-file',
    value: 'FILE',
    summary: 'file with the client secret; for apple the private key as PEM',
    group: 'Client secret',
  },
  { flag: '--secret-stdin', summary: 'reads the client secret from stdin', group: 'Client secret' },
  { flag: '--scopes', value: 'SCOPES', summary: 'further scopes to ask for, separated by commas' },
] as const satisfies readonly OptionSpec[];
const built = [
  { flag: '--issuer', value: 'URL', summary: 'issuer (OpenID Connect), or address of a GitLab of your own' },
  { flag: '--tenant', value: 'TENANT', summary: 'tenant of microsoft (default: common)', group: 'Single providers' },
  { flag: '--team-id', value: 'ID', summary: 'team of apple', group: 'Single providers' },
  { flag: '--key-id', value: 'ID', summary: 'id of the private key of apple', group: 'Single providers' },
] as const satisfies readonly OptionSpec[];

const secretOf = async (args: ParsedArgs): Promise<string | undefined> => {
  const file = args.text('--secret-file');
  const isPiped = args.isSet('--secret-stdin');
  if (file === undefined && !isPiped) return undefined;
  if (file !== undefined && isPiped)
    throw usageError('--secret-file and --secret-stdin exclude each other.', 'give one of them');
  const secret = file === undefined ? await readStdin() : readSecretFile(file);
  if (secret.trim() === '')
    throw usageError('The client secret is empty.', 'a client without a secret is added without these flags');
  return secret;
};
/** The members of the configuration that the flags give. */
const configOf = async (args: ParsedArgs, flags: readonly OptionSpec[]): Promise<Record<string, unknown>> => {
  const has = (flag: string) => flags.some((one) => one.flag === flag);
  const given = {
    clientId: args.text('--client-id'),
    clientSecret: await secretOf(args),
    scopes: args
      .text('--scopes')
      ?.split(',')
      .map((scope) => scope.trim())
      .filter((scope) => scope !== ''),
    issuer: has('--issuer') ? args.text('--issuer') : undefined,
    tenant: has('--tenant') ? args.text('--tenant') : undefined,
    teamId: has('--team-id') ? args.text('--team-id') : undefined,
    keyId: args.text('--key-id'),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
};

const addOptions = [
  projectOption,
  {
    flag: '--key',
    value: 'KEY',
    summary: 'key of the provider in addresses; for oauth2 the name of a built-in provider',
    required: true,
  },
  { ...clientId, required: true },
  ...client,
  ...built,
  name,
  enabled,
] as const satisfies readonly OptionSpec[];

const add = command({
  path: 'provider add',
  summary: 'Adds a login provider and prints the callback address to register there',
  arguments: [
    {
      name: 'KIND',
      summary: 'oauth2 for a built-in provider such as google, oidc for any other with OpenID Connect',
      choices: ['oauth2', 'oidc'],
    },
  ],
  options: addOptions,
  examples: [
    `printf 'the secret' | svc provider add oauth2 --project shop --key github --client-id Iv1.0123 --secret-stdin`,
    `printf 'the secret' | svc provider add oidc --project shop --key corp --issuer https://id.example.com --client-id shop --secret-stdin --json`,
    `printf 'the secret' | svc provider add oauth2 --project shop --key google --client-id 1234.apps.example --secret-stdin`,
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args, runtime, features, work } = call;
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const input = {
      key: args.required('--key'),
      kind: args.argument('KIND'),
      name: args.text('--name'),
      ...onOrOff(args, enabled),
      config: await configOf(args, addOptions),
    };
    return shown(call, await work(project.id, (unit) => features.providers.add(unit, project, input)));
  },
});

const list = command({
  path: 'provider list',
  summary: 'Lists the login providers of a project',
  options: [projectOption],
  examples: ['svc provider list --project shop', 'svc provider list --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const { args, runtime, features } = call;
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const found = await features.providers.list(runtime.db, project);
    return {
      value: { total: found.length, providers: found.map((one) => toProvider(one, features.providers.show(one))) },
      text: columns(
        ['KEY', 'KIND', 'NAME', 'ENABLED'],
        found.map((one) => [one.key, one.kind, one.name, one.enabled ? 'on' : 'off']),
      ),
    };
  },
});

const show = command({
  path: 'provider show',
  summary: 'Shows a login provider without its secret',
  arguments: [keyArgument],
  options: [projectOption],
  examples: ['svc provider show github --project shop', 'svc provider show corp --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const { args, runtime, features } = call;
    const project = await features.projects.get(runtime.db, args.required('--project'));
    return shown(call, await features.providers.get(runtime.db, project, args.argument('KEY')));
  },
});

const update = command({
  path: 'provider update',
  summary: 'Changes a login provider. Running servers apply the change at the next login',
  arguments: [keyArgument],
  options: [
    projectOption,
    clientId,
    ...client,
    { flag: '--key-id', value: 'ID', summary: 'id of the private key of apple' },
    name,
    enabled,
  ],
  examples: [
    'svc provider update corp --project shop --name "Example Corp" --scopes groups',
    'svc provider update google --project shop --enabled off --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args, runtime, features, work } = call;
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const config = await configOf(args, []);
    const input = {
      name: args.text('--name'),
      ...onOrOff(args, enabled),
      config: Object.keys(config).length === 0 ? undefined : config,
    };
    if (Object.values(input).every((value) => value === undefined))
      throw usageError('There is nothing to change.', 'give at least one flag; svc provider update --help lists them');
    const key = args.argument('KEY');
    return shown(call, await work(project.id, (unit) => features.providers.update(unit, project, key, input)));
  },
});

const remove = command({
  path: 'provider remove',
  summary: 'Removes a login provider and the identities of users at it. The users stay',
  arguments: [keyArgument],
  options: [projectOption],
  examples: ['svc provider remove google --project shop --yes', 'svc provider remove corp --project shop --yes --json'],
  needs: 'appliance',
  run: async (call) => {
    const { args, runtime, features, prompts, work } = call;
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const { key } = await features.providers.get(runtime.db, project, args.argument('KEY'));
    const users = await features.identities.countAt(runtime.db, project, key);
    await prompts.confirm(`Remove the provider ${key}, by which ${users} identities of users log in?`);
    await work(project.id, (unit) => features.providers.remove(unit, project, key));
    return { value: { $id: key, removed: true, identities: users }, text: `Provider ${key} is removed.` };
  },
});

/** `svc provider …` */
export const providerCommands = [add, list, show, update, remove];

type Provider = Awaited<ReturnType<ApplianceCall['features']['providers']['get']>>;

function shown({ features, runtime }: ApplianceCall, provider: Provider): CommandResult {
  const { key, projectId } = provider;
  const callback = `${runtime.config.baseUrl.replace(/\/$/, '')}/account/sessions/oauth2/callback/${key}/${projectId}`;
  const value = { ...toProvider(provider, features.providers.show(provider)), callbackUrl: callback };
  const text = (one: unknown) =>
    Array.isArray(one) ? one.join(', ') : one === true ? 'yes' : one === false ? 'no' : String(one);
  return {
    value,
    text: pairs([
      ['key', key],
      ['kind', provider.kind],
      ['name', provider.name],
      ['enabled', provider.enabled ? 'on' : 'off'],
      ...Object.entries(features.providers.show(provider)).map(
        ([member, one]) => [labels[member] ?? member, text(one)] as const,
      ),
      ['callback URL', callback],
    ]),
  };
}

const labels: Readonly<Record<string, string>> = {
  clientId: 'client id',
  hasSecret: 'has a secret',
  teamId: 'team id',
  keyId: 'key id',
};
