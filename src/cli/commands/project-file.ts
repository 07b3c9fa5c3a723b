import { Failure } from '#src/contract/errors.js';
import { type ApplianceCall, command, optionalProject } from '../line/command.js';
import { inputBytes, readSecretFile, readStdin } from '../line/input.js';
import { applyChange, type MadeSecret, requirePossible } from '../project-file/apply.js';
import { appwriteKinds, fromAppwriteFile, isAppwriteFile, withKnownTypes } from '../project-file/appwrite.js';
import { type Change, changeLines, changesOf, labelOf, numberedKeys, requireOnce } from '../project-file/changes.js';
import { type ProjectFile, printProjectFile, projectFileOf, readProjectText } from '../project-file/file.js';
import { type Item, itemsOf } from '../project-file/items.js';
import { callFor, type ProjectCall } from '../project-file/project-call.js';
import { revealed } from '../project-file/secrets.js';
import { readProject } from '../project-file/state.js';
import { count } from '../terminal/count.js';
import { exitCodes } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';
import { pairs } from '../terminal/table.js';

const exportIt = command({
  path: 'project export',
  summary:
    'Prints a project as a file for svc project apply: settings, platforms, providers, teams, collections, buckets, webhooks and keys, without secrets',
  arguments: [{ name: 'ID', summary: 'id of the project', values: 'project' }],
  options: [{ flag: '--format', value: 'FORMAT', summary: 'default: yaml', choices: ['yaml', 'json'] }],
  examples: ['svc project export shop > shop.yaml', 'svc project export shop --format json > shop.json'],
  run: async (call) => {
    const { args, runtime, features } = call;
    const project = await features.projects.get(runtime.db, args.argument('ID'));
    const value = await readProject(callFor(call, project.id), project);
    return {
      value,
      text: Lines.text(await printProjectFile(value, args.text('--format') === 'json' ? 'json' : 'yaml')),
    };
  },
});

/** These can be created again without a loss. */
const replaceable = ['platform', 'index'];

const apply = command({
  path: 'project apply',
  summary:
    'Creates and changes what a project file says, and prints the secrets of new keys and webhooks. What the file does not name stays. The files of appwrite-cli are read, too',
  options: [
    { flag: '--file', short: '-f', value: 'FILE', summary: 'YAML or JSON; - reads stdin', required: true },
    optionalProject('the project to change (default: the one that the file names)'),
    { flag: '--dry-run', summary: 'change nothing, print what would change, and exit with 5 if there is something' },
    { flag: '--prune', summary: 'remove what the file does not name, of the kinds that its format has' },
    { flag: '--confirm', value: 'ID', summary: 'with --prune: id of the project, to confirm without a prompt' },
  ],
  examples: [
    'svc project export shop > shop.yaml && svc project apply -f shop.yaml',
    'svc project export shop | svc project apply -f - --dry-run --json',
  ],
  run: async (call) => {
    const { args, prompts, runtime, features } = call;
    const file = args.required('--file');
    const text = file === '-' ? await readStdin('--file') : readSecretFile(file, '--file', inputBytes.body);
    const { wanted, canName } = wantedOf(call, await readProjectText(text));
    const ofProject = callFor(call, wanted.project.$id);
    const project = (await features.projects.list(runtime.db)).find(({ id }) => id === ofProject.projectId);
    const found = project === undefined ? [] : (await presentItems(ofProject, project)).filter(canName);
    const named = itemsOf(wanted);
    requireOnce(named);
    const { wanted: numbered, present } = numberedKeys(named, found);
    const items = revealed(numbered, present, call.environment);
    const changes = changesOf(items, present, args.isSet('--prune'));
    for (const change of changes) await requirePossible(ofProject, change);
    const shown = changes.map((change) => ({
      action: change.action,
      kind: change.kind,
      id: change.path.join('/'),
      members: Object.keys(change.differences),
    }));
    if (args.isSet('--dry-run') || changes.length === 0) {
      const lines =
        changes.length === 0 ? [`The project ${ofProject.projectId} is as the file says.`] : changeLines(changes);
      const exitCode = changes.length === 0 ? exitCodes.ok : exitCodes.conflict;
      return { value: { changes: shown, secrets: [] }, text: Lines.of(lines), exitCode };
    }
    const lost = changes.filter(({ action, kind }) => action === 'delete' && !replaceable.includes(kind));
    if (lost.length > 0) {
      const question = `This removes ${lost.map(labelOf).join(', ')} from the project ${ofProject.projectId}, with everything in them, for good.`;
      await prompts.confirmByName(question, [ofProject.projectId], args.text('--confirm'));
    }
    const secrets = await applyAll(ofProject, changes);
    const made = secrets.map(({ kind, id, secret }) => [`${kind} ${id}`, secret] as const);
    return {
      value: { changes: shown, secrets },
      text: Lines.joined([
        Lines.of([...changeLines(changes), `${count(changes.length, 'change')} made.`]),
        pairs(made),
      ]),
      ...(secrets.length === 0 ? {} : { next: 'keep the secrets; they cannot be shown again' }),
    };
  },
});

/** `svc project export` and `svc project apply` */
export const projectFileCommands = [exportIt, apply];

/** The project file, of svc or of Appwrite's command line, for the project that `--project` names, and which items its format can name. */
function wantedOf({ args, output }: ApplianceCall, content: unknown) {
  const withId = (file: ProjectFile): ProjectFile => ({
    ...file,
    project: { ...file.project, $id: args.text('--project') ?? file.project.$id },
  });
  if (!isAppwriteFile(content)) return { wanted: withId(projectFileOf(content)), canName: () => true };
  const whole = fromAppwriteFile(content);
  const { file, left: parts } = withKnownTypes(whole.file);
  const named = parts.map((one) => `the ${labelOf(one)}${one.type === undefined ? '' : ` of the type ${one.type}`}`);
  const left = [...whole.left, ...named];
  if (left.length > 0) output.note(`These parts have no counterpart in svc and are left out: ${left.join(', ')}.`);
  // An item with the label of a part that is left out replaces that part.
  const labels = parts.map(labelOf);
  const canName = (item: Item) => appwriteKinds.includes(item.kind) && !labels.includes(labelOf(item));
  return { wanted: withId(file), canName };
}

type Project = Parameters<typeof readProject>[1];

/** The present items of the project, with their secrets for the comparison. */
async function presentItems(call: ProjectCall, project: Project) {
  const providers = await call.features.providers.list(call.runtime.db, project);
  const items = itemsOf(await readProject(call, project));
  return items.map((item) => {
    if (item.kind === 'project') return { ...item, members: { name: project.name, ...project.settings } };
    if (item.kind === 'platform') return { ...item, members: { name: item.path[1], ...item.members } };
    if (item.kind !== 'provider') return item;
    const { config } = providers.find(({ key }) => key === item.path[0]) ?? { config: {} };
    return { ...item, members: { ...item.members, ...config } };
  });
}

/** Makes the changes in order. If one fails, it is named, and the secrets that exist by then are printed. */
async function applyAll(call: ProjectCall, changes: readonly Change[]): Promise<MadeSecret[]> {
  const secrets: MadeSecret[] = [];
  for (const change of changes) {
    try {
      const secret = await applyChange(call, change);
      if (secret !== undefined) secrets.push(secret);
    } catch (error) {
      for (const { kind, id, secret } of secrets) call.output.note(`The secret of the ${kind} ${id} is ${secret}`);
      if (!(error instanceof Failure)) throw error;
      throw new Failure(error.type, { message: `${labelOf(change)}: ${error.message}`, cause: error });
    }
  }
  return secrets;
}
