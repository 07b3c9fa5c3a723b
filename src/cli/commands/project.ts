import { logoBytes } from '#src/contract/limits.js';
import { type Project, projectSettings } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import { toProject } from '#src/features/index.js';
import { withFreeId } from '../installation/free-project-id.js';
import { switchOf } from '../line/choices.js';
import { type CommandResult, command } from '../line/command.js';
import { readSmallFile } from '../line/input.js';
import { confirmOption, nameArgument, newNameOption } from '../line/options.js';
import { withRemovalProgress } from '../line/removal.js';
import { usageError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';

const idArgument = { name: 'ID', summary: 'id of the project', values: 'project' } as const;

const create = command({
  path: 'project create',
  summary: 'Creates a project, with its own users, keys, platforms and settings',
  arguments: [nameArgument],
  options: [{ flag: '--id', value: 'ID', summary: 'id to use (default: the name in lower case, such as my-app)' }],
  examples: [
    'svc project create Shop --id shop',
    'svc project create "Old shop" --id old-shop',
    'svc project create Trial --id trial --json',
  ],
  run: async ({ args, runtime, features, work }) => {
    const name = args.argument('NAME');
    const withId = (id: string) => work(id, (unit) => features.projects.create(unit, { id, name }));
    const given = args.text('--id');
    const project = await (given === undefined
      ? withFreeId({ ...features, reader: runtime.db }, name, withId)
      : withId(given === uniqueId ? runtime.random.id() : given));
    return { ...shown(project, []), next: `svc apikey create --project ${project.id} --name backend --scopes all` };
  },
});

const list = command({
  path: 'project list',
  summary: 'Lists the projects',
  examples: ['svc project list', 'svc project list --json'],
  run: async ({ runtime, features }) => {
    const projects = await features.projects.list(runtime.db);
    return {
      value: { total: projects.length, projects: projects.map(toProject) },
      text: columns(
        ['ID', 'NAME', 'CREATED'],
        projects.map(({ id, name, createdAt }) => [id, name, createdAt]),
      ),
    };
  },
});

const show = command({
  path: 'project show',
  summary: 'Shows a project with its settings, hostnames and apps',
  arguments: [idArgument],
  examples: ['svc project show shop', 'svc project show shop --json'],
  run: async ({ args, runtime, features }) => shown(await features.projects.get(runtime.db, args.argument('ID'))),
});

const update = command({
  path: 'project update',
  summary: 'Changes the name, the settings or the logo of a project. Running servers apply the change within a second',
  arguments: [idArgument],
  options: [
    newNameOption,
    {
      flag: '--set',
      value: 'KEY=VALUE',
      summary: 'a setting, see svc project settings; an empty value restores the default; repeatable',
      repeated: true,
    },
    {
      flag: '--logo',
      value: 'FILE',
      summary: 'image on the pages to sign in with: PNG, JPEG or WebP of at most 32 KiB; an empty value removes it',
    },
  ],
  examples: [
    'svc project update shop --name "The shop"',
    'svc project update shop --set session.days=7 --set session.limit=5 --json',
    'svc project update shop --set pages.color=#0a7f5a --logo logo.png',
  ],
  run: async ({ args, features, work }) => {
    const id = args.argument('ID');
    const name = args.text('--name');
    const settings = Object.fromEntries(args.list('--set').map(settingOf));
    const file = args.text('--logo');
    const isPlain = name !== undefined || Object.keys(settings).length > 0;
    if (!isPlain && file === undefined)
      throw usageError('There is nothing to change.', 'give --name NAME, --set KEY=VALUE or --logo FILE');
    const logo = file === undefined || file === '' ? undefined : readSmallFile(file, logoBytes);
    const change = { settings, ...(name === undefined ? {} : { name }) };
    const changed = await work(id, async (unit) => {
      const project = await (isPlain ? features.projects.update(unit, id, change) : features.projects.get(unit, id));
      if (logo !== undefined) await features.logos.set(unit, project, logo);
      else if (file === '') await features.logos.remove(unit, project);
      return project;
    });
    return shown(changed, Object.keys(settings));
  },
});

const remove = command({
  path: 'project delete',
  summary:
    'Deletes a project with its users, keys and everything else in it. Its entries of the audit log stay. If it was interrupted, it continues',
  arguments: [idArgument],
  options: [confirmOption('project')],
  examples: ['svc project delete old-shop --confirm old-shop', 'svc project delete trial --confirm Trial --json'],
  run: async (call) => {
    const { args, prompts, runtime, features, auditContext } = call;
    const id = args.argument('ID');
    const name = await features.projects.nameToRemove(runtime.db, id);
    const question = `This deletes the project ${id} (${name}) with its users, documents, files, webhooks and keys, for good.`;
    await prompts.confirmByName(question, [id, name], args.text('--confirm'));
    await withRemovalProgress(call, (report) => features.projects.remove(auditContext(id), id, { report }));
    return {
      value: { $id: id, deleted: true },
      text: `Project ${id} is deleted. Its entries of the audit log stay, with addresses and names of its users.`,
      next: `svc user erase USER --project ${id} erases those of a user`,
    };
  },
});

const settings = command({
  path: 'project settings',
  summary: 'Lists the settings of projects, with their defaults',
  examples: ['svc project settings', 'svc project settings --json'],
  needs: 'nothing',
  run: async () => {
    const found = Object.entries(projectSettings.shape).map(([key, schema]) => ({
      key,
      default: schema.parse(undefined),
      description: schema.description ?? '',
    }));
    return {
      value: { total: found.length, settings: found },
      text: columns(
        ['KEY', 'DEFAULT', 'MEANING'],
        found.map((setting) => [setting.key, settingText(setting.default), setting.description]),
        { sentences: true },
      ),
    };
  },
});

/** `svc project …` */
export const projectCommands = [create, list, show, update, remove, settings];

/** Formats a project with the given settings; all by default. */
function shown(project: Project, keys: readonly string[] = Object.keys(project.settings)): CommandResult {
  return {
    value: toProject(project),
    text: pairs([
      ['id', project.id],
      ['name', project.name],
      ['created', project.createdAt],
      ['hostnames', project.hostnames.join(', ') || 'none'],
      ...project.apps.map(({ type, id }) => ['app', `${id} (${type})`] as const),
      ...Object.entries(project.settings)
        .filter(([key]) => keys.includes(key))
        .map(([key, value]) => [key, settingText(value)] as const),
    ]),
  };
}

/** Formats a setting. Booleans are on or off, as in all commands. */
function settingText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return String(value);
}

/** Parses `key=7`, `key=on` (or another word for a switch) or `key=text`. An empty value means the default. */
function settingOf(text: string): readonly [string, unknown] {
  const [, key, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined)
    throw usageError(`--set takes KEY=VALUE, not '${text}'.`, 'svc project settings lists the keys');
  if (value === '' || value === 'null') return [key, null];
  if (takesText(key, value)) return [key, value];
  const state = switchOf(value);
  if (state !== undefined) return [key, state === 'on'];
  return [key, /^-?\d+$/.test(value) ? Number(value) : value];
}

/** True if the setting accepts the text unchanged, such as a name of digits. */
function takesText(key: string, value: string): boolean {
  const { shape } = projectSettings;
  return Object.hasOwn(shape, key) && shape[key as keyof typeof shape].safeParse(value).success;
}
