import type { ProjectPlatform } from '#src/features/index.js';
import { toPlatform } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import { command, projectOption } from '../command.js';
import { columns, pairs } from '../output.js';

const add = command({
  path: 'platform add',
  summary: 'Registers a hostname whose pages may call the service for a project',
  options: [
    projectOption,
    {
      flag: '--hostname',
      value: 'HOST',
      summary: 'without scheme, port and path; *.example.com for all subdomains',
      required: true,
    },
    { flag: '--name', value: 'NAME', summary: 'what people call it (default: the hostname)' },
    { flag: '--id', value: 'ID', summary: 'an id of your choice (default: a new one)' },
  ],
  examples: [
    'svc platform add --project shop --hostname shop.example.com',
    'svc platform add --project shop --hostname "*.old.example.com" --name "Old site" --id old-site --json',
    'svc platform add --project shop --hostname beta.example.com --id beta',
  ],
  needs: 'appliance',
  run: async ({ typed, appliance: { platform, features }, by }) => {
    const project = await features.projects.get(platform.db, typed.required('--project'));
    const given = {
      id: typed.text('--id') ?? platform.random.id(),
      name: typed.text('--name') ?? '',
      hostname: typed.required('--hostname'),
    };
    return shown(
      await platform.db.work(by(project.id), (unit) => features.projects.addPlatform(unit, project.id, given)),
    );
  },
});

const list = command({
  path: 'platform list',
  summary: 'Lists the platforms of a project',
  options: [projectOption],
  examples: ['svc platform list --project shop', 'svc platform list --project shop --json'],
  needs: 'appliance',
  run: async ({ typed, appliance: { platform, features } }) => {
    const project = await features.projects.get(platform.db, typed.required('--project'));
    const platforms = await features.projects.platforms(platform.db, project.id);
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
  summary: 'Removes a platform; pages of its hostname are refused within a second',
  arguments: [{ name: 'ID', summary: 'id of the platform' }],
  options: [{ flag: '--project', value: 'ID', summary: 'the project, where several have a platform of this id' }],
  examples: ['svc platform remove old-site', 'svc platform remove beta --project shop --json'],
  needs: 'appliance',
  run: async ({ typed, appliance: { platform, features }, by }) => {
    const id = typed.argument('ID');
    const project = typed.text('--project');
    const { projectId, hostname } =
      project === undefined
        ? await features.projects.platformById(platform.db, id)
        : await features.projects.platform(platform.db, (await features.projects.get(platform.db, project)).id, id);
    await platform.db.work(by(projectId), (unit) => features.projects.removePlatform(unit, projectId, id));
    return { value: { $id: id, removed: true }, text: `Platform ${id} (${hostname}) is removed.` };
  },
});

/** `svc platform …` */
export const platformCommands = [add, list, remove];

function shown(platform: ProjectPlatform): Answer {
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
