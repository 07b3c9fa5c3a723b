import type { ProjectPlatform } from '#src/features/index.js';
import { toPlatform } from '#src/features/index.js';
import { command, projectOption } from '../command.js';
import type { CommandResult } from '../command-result.js';
import { columns, pairs } from '../table.js';

const add = command({
  path: 'platform add',
  summary: 'Allows web pages of a hostname to call the API for a project',
  options: [
    projectOption,
    {
      flag: '--hostname',
      value: 'HOST',
      summary: 'hostname without scheme, port and path; *.example.com for all subdomains',
      required: true,
    },
    { flag: '--name', value: 'NAME', summary: 'display name (default: the hostname)' },
    { flag: '--id', value: 'ID', summary: 'id to use (default: a generated one)' },
  ],
  examples: [
    'svc platform add --project shop --hostname shop.example.com',
    'svc platform add --project shop --hostname "*.old.example.com" --name "Old site" --id old-site --json',
    'svc platform add --project shop --hostname beta.example.com --id beta',
  ],
  needs: 'appliance',
  run: async ({ args, runtime, features, work }) => {
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const input = {
      id: args.text('--id') ?? runtime.random.id(),
      name: args.text('--name') ?? '',
      hostname: args.required('--hostname'),
    };
    return shown(await work(project.id, (unit) => features.projects.addPlatform(unit, project.id, input)));
  },
});

const list = command({
  path: 'platform list',
  summary: 'Lists the platforms of a project',
  options: [projectOption],
  examples: ['svc platform list --project shop', 'svc platform list --project shop --json'],
  needs: 'appliance',
  run: async ({ args, runtime, features }) => {
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const platforms = await features.projects.platforms(runtime.db, project.id);
    return {
      value: { total: platforms.length, platforms: platforms.map(toPlatform) },
      text: columns(
        ['ID', 'HOSTNAME', 'NAME'],
        platforms.map(({ id, hostname, name }) => [id, hostname, name]),
      ),
    };
  },
});

const remove = command({
  path: 'platform remove',
  summary: 'Removes a platform. Running servers refuse pages of its hostname within a second',
  arguments: [{ name: 'ID', summary: 'id of the platform', values: 'platform' }],
  options: [
    {
      flag: '--project',
      value: 'ID',
      summary: 'the project; needed if several have a platform of this id',
      values: 'project',
    },
  ],
  examples: ['svc platform remove old-site', 'svc platform remove beta --project shop --json'],
  needs: 'appliance',
  run: async ({ args, runtime, features, work }) => {
    const id = args.argument('ID');
    const project = args.text('--project');
    const { projectId, hostname } =
      project === undefined
        ? await features.projects.platformById(runtime.db, id)
        : await features.projects.platform(runtime.db, (await features.projects.get(runtime.db, project)).id, id);
    await work(projectId, (unit) => features.projects.removePlatform(unit, projectId, id));
    return { value: { $id: id, removed: true }, text: `Platform ${id} (${hostname}) is removed.` };
  },
});

/** `svc platform …` */
export const platformCommands = [add, list, remove];

function shown(platform: ProjectPlatform): CommandResult {
  const { id, hostname, name } = platform;
  return {
    value: toPlatform(platform),
    text: pairs([
      ['id', id],
      ['hostname', hostname],
      ['name', name],
    ]),
  };
}
