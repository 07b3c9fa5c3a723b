import { fileLimits } from '#src/contract/limits.js';
import type { HandlerResult } from '#src/contract/operation.js';
import { bucketsApi } from '#src/features/index.js';
import { type CommandCall, type CommandResult, type ParsedArgs, projectCommand } from '../line/command.js';
import { wholeNumber } from '../line/input.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import {
  confirmOption,
  enabledOption,
  idOption,
  listOrNone,
  nameArgument,
  newNameOption,
  onOrOff,
  requireChange,
  switchOption,
} from '../line/options.js';
import { noteMore, wholeList } from '../line/page.js';
import { count } from '../terminal/count.js';
import { columns, pairs } from '../terminal/table.js';

const idArgument = { name: 'ID', summary: 'id of the bucket', values: 'bucket' } as const;
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
  enabledOption,
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
function settingsOf(args: ParsedArgs) {
  return {
    permissions: listOrNone(args, '--permission'),
    allowedFileExtensions: listOrNone(args, '--extension'),
    maximumFileSize:
      args.text('--max-size') === undefined ? undefined : wholeNumber(args, '--max-size', 0, fileLimits.maxBytes),
    compression: args.text('--compression'),
    ...onOrOff(args, security),
    ...onOrOff(args, enabledOption),
    ...onOrOff(args, encryption),
    ...onOrOff(args, transformations),
  };
}

const bucketOf = ({ args }: CommandCall) => ({ bucketId: args.argument('ID') });

const create = projectCommand({
  path: 'bucket create',
  summary: 'Creates a bucket, which holds files',
  arguments: [nameArgument],
  options: [idOption, ...settings],
  examples: [
    `svc bucket create Photos --project shop --id photos --permission 'read("any")' --permission 'create("users")'`,
    'svc bucket create Drafts --project shop --id drafts --file-security on --max-size 5000000 --extension pdf --json',
  ],
  run: async (call) => {
    const { args } = call;
    const body = { bucketId: args.text('--id') ?? 'unique()', name: args.argument('NAME'), ...settingsOf(args) };
    return shown(await invokeAsOperator(call, bucketsApi.create, { body }));
  },
});

const list = projectCommand({
  path: 'bucket list',
  summary: 'Lists the buckets of a project',
  examples: ['svc bucket list --project shop', 'svc bucket list --project shop --json'],
  run: async (call) => {
    const value = await invokeAsOperator(call, bucketsApi.list, { query: wholeList });
    noteMore(call, value.buckets.length, value.total);
    const rows = value.buckets.map((one) => [one.$id, one.name, one.enabled ? 'on' : 'off', String(one.totalSize)]);
    return { value, text: columns(['ID', 'NAME', 'ENABLED', 'BYTES'], rows) };
  },
});

const show = projectCommand({
  path: 'bucket show',
  summary: 'Shows a bucket',
  arguments: [idArgument],
  examples: ['svc bucket show photos --project shop', 'svc bucket show photos --project shop --json'],
  run: async (call) => shown(await invokeAsOperator(call, bucketsApi.get, { params: bucketOf(call) })),
});

const update = projectCommand({
  path: 'bucket update',
  summary: 'Changes a bucket; what is not given stays',
  arguments: [idArgument],
  options: [newNameOption, ...settings],
  examples: [
    'svc bucket update photos --project shop --name "All photos"',
    'svc bucket update drafts --project shop --compression gzip --enabled on --json',
  ],
  run: async (call) => {
    const { args } = call;
    const body = { name: args.text('--name'), ...settingsOf(args) };
    requireChange(body, 'give --name NAME or another option of svc bucket update --help');
    return shown(await invokeAsOperator(call, bucketsApi.update, { params: bucketOf(call), body }));
  },
});

const remove = projectCommand({
  path: 'bucket delete',
  summary: 'Deletes a bucket with all its files',
  arguments: [idArgument],
  options: [confirmOption('bucket')],
  examples: [
    'svc bucket create Trial --project shop --id trial && svc bucket delete trial --project shop --confirm trial',
    'svc bucket delete drafts --project shop --confirm Drafts --json',
  ],
  run: async (call) => {
    const params = bucketOf(call);
    const { $id, name } = await invokeAsOperator(call, bucketsApi.get, { params });
    const question = `This deletes the bucket ${$id} (${name}) with all its files. It cannot be undone.`;
    await call.prompts.confirmByName(question, [$id, name], call.args.text('--confirm'));
    await invokeAsOperator(call, bucketsApi.delete, { params });
    return { value: { $id, deleted: true }, text: `Bucket ${$id} is deleted.` };
  },
});

/** `svc bucket …` */
export const bucketCommands = [create, list, show, update, remove];

function shown(bucket: HandlerResult<typeof bucketsApi.get>): CommandResult {
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
