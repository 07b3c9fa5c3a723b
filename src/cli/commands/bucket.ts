import { fileLimits } from '#src/contract/limits.js';
import { bucketsApi } from '#src/features/index.js';
import { type ApplianceCall, command, projectOption } from '../line/command.js';
import { onOrOff, switchOption, wholeNumber } from '../line/input.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { noteMore, wholeList } from '../line/page.js';
import type { CommandResult } from '../terminal/command-result.js';
import { count } from '../terminal/count.js';
import { usageError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';

const idArgument = { name: 'ID', summary: 'id of the bucket', values: 'bucket' } as const;
const enabled = switchOption('--enabled', 'off hides it from everyone but server keys (default: on)');
const security = switchOption('--file-security', 'on gives each file its own permissions (default: off)');
const encryption = switchOption('--encryption', 'off stores the bytes of new files as they are (default: on)');
const transformations = switchOption('--transformations', 'off refuses previews of images (default: on)');
const settings = [
  {
    flag: '--permission',
    value: 'PERMISSION',
    summary: `such as 'read("any")' or 'create("users")'; repeatable; the word none removes all`,
    repeated: true,
  },
  security,
  enabled,
  { flag: '--max-size', value: 'BYTES', summary: 'largest file (default: SVC_FILE_MAX_BYTES)' },
  {
    flag: '--extension',
    value: 'EXT',
    summary: 'extension that files may have; repeatable; the word none allows all',
    repeated: true,
  },
  { flag: '--compression', value: 'KIND', summary: 'of new files (default: none)', choices: ['none', 'gzip'] },
  encryption,
  transformations,
] as const;

/** Converts the flags to body members. */
function settingsOf({ args }: Pick<ApplianceCall, 'args'>): Record<string, unknown> {
  const list = (flag: '--permission' | '--extension') => args.list(flag).filter((one) => one !== 'none');
  const compression = args.text('--compression');
  return {
    ...(args.list('--permission').length === 0 ? {} : { permissions: list('--permission') }),
    ...(args.list('--extension').length === 0 ? {} : { allowedFileExtensions: list('--extension') }),
    ...(args.text('--max-size') === undefined
      ? {}
      : { maximumFileSize: wholeNumber(args, '--max-size', 0, fileLimits.maxBytes) }),
    ...(compression === undefined ? {} : { compression }),
    ...onOrOff(args, security),
    ...onOrOff(args, enabled),
    ...onOrOff(args, encryption),
    ...onOrOff(args, transformations),
  };
}

const create = command({
  path: 'bucket create',
  summary: 'Creates a bucket, which holds files',
  arguments: [{ name: 'NAME', summary: 'display name' }],
  options: [projectOption, { flag: '--id', value: 'ID', summary: 'id to use (default: a generated one)' }, ...settings],
  examples: [
    `svc bucket create Photos --project shop --id photos --permission 'read("any")' --permission 'create("users")'`,
    'svc bucket create Drafts --project shop --id drafts --file-security on --max-size 5000000 --extension pdf --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args } = call;
    const body = { bucketId: args.text('--id') ?? 'unique()', name: args.argument('NAME'), ...settingsOf(call) };
    return shown(await invokeAsOperator(call, bucketsApi.create, { body }));
  },
});

const list = command({
  path: 'bucket list',
  summary: 'Lists the buckets of a project',
  options: [projectOption],
  examples: ['svc bucket list --project shop', 'svc bucket list --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const value = await invokeAsOperator(call, bucketsApi.list, { query: wholeList });
    noteMore(call, value.buckets.length, value.total);
    const rows = value.buckets.map((one) => [one.$id, one.name, one.enabled ? 'on' : 'off', String(one.totalSize)]);
    return { value, text: columns(['ID', 'NAME', 'ENABLED', 'BYTES'], rows) };
  },
});

const show = command({
  path: 'bucket show',
  summary: 'Shows a bucket',
  arguments: [idArgument],
  options: [projectOption],
  examples: ['svc bucket show photos --project shop', 'svc bucket show photos --project shop --json'],
  needs: 'appliance',
  run: async (call) =>
    shown(await invokeAsOperator(call, bucketsApi.get, { params: { bucketId: call.args.argument('ID') } })),
});

const update = command({
  path: 'bucket update',
  summary: 'Changes a bucket; what is not given stays',
  arguments: [idArgument],
  options: [projectOption, { flag: '--name', value: 'NAME', summary: 'the new name' }, ...settings],
  examples: [
    'svc bucket update photos --project shop --name "All photos"',
    'svc bucket update drafts --project shop --compression gzip --enabled on --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args } = call;
    const name = args.text('--name');
    const body = { ...(name === undefined ? {} : { name }), ...settingsOf(call) };
    if (Object.keys(body).length === 0)
      throw usageError('There is nothing to change.', 'give --name NAME or another option of svc bucket update --help');
    return shown(await invokeAsOperator(call, bucketsApi.update, { params: { bucketId: args.argument('ID') }, body }));
  },
});

const remove = command({
  path: 'bucket delete',
  summary: 'Deletes a bucket with all its files',
  arguments: [idArgument],
  options: [
    projectOption,
    { flag: '--confirm', value: 'NAME', summary: 'id or name of the bucket, to confirm without a prompt' },
  ],
  examples: [
    'svc bucket create Trial --project shop --id trial && svc bucket delete trial --project shop --confirm trial',
    'svc bucket delete drafts --project shop --confirm Drafts --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const params = { bucketId: call.args.argument('ID') };
    const { $id, name } = await invokeAsOperator(call, bucketsApi.get, { params });
    const question = `This deletes the bucket ${$id} (${name}) with all its files. It cannot be undone.`;
    await call.prompts.confirmByName(question, [$id, name], call.args.text('--confirm'));
    await invokeAsOperator(call, bucketsApi.delete, { params });
    return { value: { $id, deleted: true }, text: `Bucket ${$id} is deleted.` };
  },
});

/** `svc bucket …` */
export const bucketCommands = [create, list, show, update, remove];

interface ShownBucket {
  readonly $id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly fileSecurity: boolean;
  readonly maximumFileSize: number;
  readonly compression: string;
  readonly encryption: boolean;
  readonly transformations: boolean;
  readonly allowedFileExtensions: readonly string[];
  readonly totalSize: number;
  readonly $permissions: readonly string[];
}

function shown(bucket: ShownBucket): CommandResult {
  return {
    value: bucket,
    text: pairs([
      ['id', bucket.$id],
      ['name', bucket.name],
      ['enabled', bucket.enabled ? 'on' : 'off'],
      ['file security', bucket.fileSecurity ? 'on' : 'off'],
      ['permissions', bucket.$permissions.join(', ') || 'none'],
      ['largest file', count(bucket.maximumFileSize, 'byte')],
      ['compression', bucket.compression],
      ['encryption', bucket.encryption ? 'on' : 'off'],
      ['previews', bucket.transformations ? 'on' : 'off'],
      ['extensions', bucket.allowedFileExtensions.join(', ') || 'all'],
      ['size', count(bucket.totalSize, 'byte')],
    ]),
  };
}
