import { type PlatformType, platformTypes } from '#src/contract/platform.js';
import type { ProjectPlatform } from '#src/features/index.js';
import { toPlatform } from '#src/features/index.js';
import { type CommandResult, command, optionalProject, type ParsedArgs, projectCommand } from '../line/command.js';
import { idOption } from '../line/options.js';
import { usageError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';

/** Other accepted words for platform types. */
const otherWords: Readonly<Record<string, PlatformType>> = { ios: 'apple', macos: 'apple' };
const typeWords = [...platformTypes, ...Object.keys(otherWords)];

const add = projectCommand({
  path: 'platform add',
  summary: 'Allows web pages of a hostname, or an app, to call the API for a project',
  options: [
    {
      flag: '--hostname',
      value: 'HOST',
      summary: 'hostname of pages, without scheme, port and path; *.example.com for all subdomains',
    },
    { flag: '--type', value: 'TYPE', summary: 'where an app runs, or what it is made with', choices: typeWords },
    { flag: '--package', value: 'ID', summary: 'application id, bundle identifier or package name of an app' },
    { flag: '--name', value: 'NAME', summary: 'display name (default: the hostname or package)' },
    idOption,
  ],
  examples: [
    'svc platform add --project shop --hostname shop.example.com',
    'svc platform add --project shop --hostname "*.old.example.com" --name "Old site" --id old-site --json',
    'svc platform add --project shop --hostname beta.example.com --id beta',
    'svc platform add --project shop --type android --package com.example.shop',
  ],
  run: async ({ args, runtime, features, findProject, work }) => {
    const project = await findProject();
    const id = args.text('--id') ?? runtime.random.id();
    const input = { id, name: args.text('--name') ?? '', ...hostOf(args) };
    return shown(await work(project.id, (unit) => features.projects.addPlatform(unit, project.id, input)));
  },
});

const list = projectCommand({
  path: 'platform list',
  summary: 'Lists the platforms of a project',
  examples: ['svc platform list --project shop', 'svc platform list --project shop --json'],
  run: async ({ runtime, features, findProject }) => {
    const platforms = await features.projects.platforms(runtime.db, (await findProject()).id);
    return {
      value: { total: platforms.length, platforms: platforms.map(toPlatform) },
      text: columns(
        ['ID', 'TYPE', 'HOSTNAME OR PACKAGE', 'NAME'],
        platforms.map(({ id, type, hostname, name }) => [id, type, hostname, name]),
      ),
    };
  },
});

const remove = command({
  path: 'platform remove',
  summary: 'Removes a platform. Running servers refuse its pages or app within a second',
  arguments: [{ name: 'ID', summary: 'id of the platform', values: 'platform' }],
  options: [optionalProject('the project; needed if several have a platform of this id')],
  examples: ['svc platform remove old-site', 'svc platform remove beta --project shop --json'],
  run: async ({ args, runtime, features, findProject, work }) => {
    const id = args.argument('ID');
    const { projectId, hostname } =
      args.text('--project') === undefined
        ? await features.projects.platformById(runtime.db, id)
        : await features.projects.platform(runtime.db, (await findProject()).id, id);
    await work(projectId, (unit) => features.projects.removePlatform(unit, projectId, id));
    return { value: { $id: id, removed: true }, text: `Platform ${id} (${hostname}) is removed.` };
  },
});

/** `svc platform …` */
export const platformCommands = [add, list, remove];

/** The hostname of pages or the id of an app, from the flags. */
function hostOf(args: ParsedArgs): { readonly type: PlatformType; readonly hostname: string } {
  const word = args.text('--type') ?? 'web';
  const type = otherWords[word] ?? platformTypes.find((one) => one === word) ?? 'web';
  const [flag, other] =
    type === 'web' ? (['--hostname', '--package'] as const) : (['--package', '--hostname'] as const);
  const hostname = args.text(flag);
  if (hostname === undefined || args.isSet(other))
    throw usageError(
      'a platform has a --hostname, or a --package and its --type',
      'svc platform add --help has examples',
    );
  return { type, hostname };
}

function shown(platform: ProjectPlatform): CommandResult {
  const { id, type, hostname, name } = platform;
  return {
    value: toPlatform(platform),
    text: pairs([
      ['id', id],
      ['type', type],
      [type === 'web' ? 'hostname' : 'package', hostname],
      ['name', name],
    ]),
  };
}
