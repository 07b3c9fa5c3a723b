import type { HandlerResult } from '#src/contract/operation.js';
import { membershipsApi, teamsApi } from '#src/features/index.js';
import { type ApplianceCall, type CommandResult, type ParsedArgs, projectCommand } from '../line/command.js';
import { creating } from '../line/deleted-ids.js';
import { commaList } from '../line/input.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { idOption, nameArgument, newNameOption } from '../line/options.js';
import { notePage, pageOptions, pageQueries } from '../line/page.js';
import { notFoundError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';
import { findUser } from './user-view.js';

const teamArgument = { name: 'TEAM', summary: 'id of the team', values: 'team' } as const;
const userArgument = { name: 'USER', summary: 'id or email address of the user' } as const;
const listOptions = [
  { flag: '--search', value: 'WORD', summary: 'only entries with this text in id or name' },
  ...pageOptions,
] as const;

const query = (method: string, values: readonly unknown[], attribute?: string) =>
  JSON.stringify({ method, attribute, values });
const listQuery = (args: ParsedArgs) => ({ search: args.text('--search'), queries: pageQueries(args) });
const idsOf = (entries: readonly { readonly $id: string }[]) => entries.map(({ $id }) => $id);
const named = ({ args }: ApplianceCall) => ({ teamId: args.argument('TEAM') });

const create = projectCommand({
  path: 'team create',
  summary: 'Creates a team without members',
  arguments: [nameArgument],
  options: [idOption],
  examples: [
    'svc team create Drivers --project shop --id drivers',
    'svc team create "Night shift" --project shop --id night --json',
  ],
  run: async (call) => {
    const { args } = call;
    const body = { teamId: args.text('--id') ?? 'unique()', name: args.argument('NAME') };
    const made = await creating(call, 'team', () => invokeAsOperator(call, teamsApi.create, { body }));
    const next = `svc team add ${made.$id} USER --project ${args.required('--project')} --roles owner`;
    return { ...shown(made), next };
  },
});

const list = projectCommand({
  path: 'team list',
  summary: 'Lists the teams of a project, oldest first, and marks teams without an owner',
  options: [...listOptions],
  examples: ['svc team list --project shop', 'svc team list --project shop --search night --json'],
  run: async (call) => {
    const value = await invokeAsOperator(call, teamsApi.list, { query: listQuery(call.args) });
    notePage(call, idsOf(value.teams), value.total);
    const { args, runtime, features } = call;
    const project = args.required('--project');
    const withoutOwner = await features.teams.withoutOwner(runtime.db, project, idsOf(value.teams));
    const rows = value.teams.map((team) => [
      ...[team.$id, team.name, String(team.total), withoutOwner.includes(team.$id) ? 'none' : 'yes', team.$createdAt],
    ]);
    const [first] = withoutOwner;
    const next = `svc team add ${first} USER --project ${project} --roles owner`;
    return {
      value: { ...value, withoutOwner },
      text: columns(['ID', 'NAME', 'MEMBERS', 'OWNER', 'CREATED'], rows),
      ...(first === undefined ? {} : { next }),
    };
  },
});

const show = projectCommand({
  path: 'team show',
  summary: 'Shows a team',
  arguments: [teamArgument],
  examples: ['svc team show drivers --project shop', 'svc team show night --project shop --json'],
  run: async (call) => shown(await invokeAsOperator(call, teamsApi.get, { params: named(call) })),
});

const update = projectCommand({
  path: 'team update',
  summary: 'Changes the name of a team',
  arguments: [teamArgument],
  options: [{ ...newNameOption, required: true }],
  examples: [
    'svc team update drivers --project shop --name "All drivers"',
    'svc team update night --project shop --name Night --json',
  ],
  run: async (call) => {
    const body = { name: call.args.required('--name') };
    return shown(await invokeAsOperator(call, teamsApi.update, { params: named(call), body }));
  },
});

const members = projectCommand({
  path: 'team members',
  summary: 'Lists the members of a team and its open invitations',
  arguments: [teamArgument],
  options: [...listOptions],
  examples: ['svc team members drivers --project shop', 'svc team members night --project shop --limit 10 --json'],
  run: async (call) => {
    const value = await invokeAsOperator(call, membershipsApi.list, {
      params: named(call),
      query: listQuery(call.args),
    });
    notePage(call, idsOf(value.memberships), value.total);
    const rows = value.memberships.map((one) => [
      ...[one.userId, one.userEmail, one.userName, one.roles.join(','), one.confirm ? one.joined : 'invited'],
    ]);
    return { value, text: columns(['USER', 'E-MAIL', 'NAME', 'ROLES', 'JOINED'], rows) };
  },
});

const add = projectCommand({
  path: 'team add',
  summary: 'Adds a user to a team at once, without an invitation',
  arguments: [teamArgument, userArgument],
  options: [{ flag: '--roles', value: 'ROLES', summary: 'roles separated by commas; an owner can change the team' }],
  examples: [
    'svc team add drivers ada@example.com --project shop --roles driver,planner',
    'svc team add night ada@example.com --project shop --json',
  ],
  run: async (call) => {
    const roles = commaList(call.args.text('--roles') ?? '').filter(Boolean);
    const body = { userId: await userId(call), roles };
    const value = await invokeAsOperator(call, membershipsApi.create, { params: named(call), body });
    return {
      value,
      text: pairs([
        ['id', value.$id],
        ['team', value.teamId],
        ['user', value.userId],
        ['roles', value.roles.join(', ')],
        ['joined', value.joined],
      ]),
    };
  },
});

const removeMember = projectCommand({
  path: 'team remove',
  summary: 'Removes a user from a team, or withdraws an invitation',
  arguments: [teamArgument, userArgument],
  examples: [
    'svc team remove drivers ada@example.com --project shop',
    'svc team remove night ada@example.com --project shop --json',
  ],
  run: async (call) => {
    const params = named(call);
    const id = await userId(call);
    const queries = [query('equal', [id], 'userId')];
    const found = (await invokeAsOperator(call, membershipsApi.list, { params, query: { queries } })).memberships;
    const [first] = found;
    if (first === undefined) {
      const fix = `svc team members ${params.teamId} --project ${call.args.required('--project')}`;
      throw notFoundError('membership_not_found', 'The user is not in this team.', fix);
    }
    // A user may be invited both by id and by address.
    for (const { $id } of found)
      await invokeAsOperator(call, membershipsApi.delete, { params: { ...params, membershipId: $id } });
    return {
      value: { $id: first.$id, deleted: true },
      text: `User ${id} is not in the team ${params.teamId} any more.`,
    };
  },
});

const remove = projectCommand({
  path: 'team delete',
  summary: 'Deletes a team and its memberships. The users are not deleted',
  arguments: [teamArgument],
  examples: ['svc team delete drivers --project shop --yes', 'svc team delete night --project shop --yes --json'],
  run: async (call) => {
    const params = named(call);
    const { $id, name } = await invokeAsOperator(call, teamsApi.get, { params });
    await call.prompts.confirm(`Delete the team ${$id} (${name})?`);
    await invokeAsOperator(call, teamsApi.delete, { params });
    return { value: { $id, deleted: true }, text: `Team ${$id} is deleted.` };
  },
});

/** `svc team …` */
export const teamCommands = [create, list, show, update, members, add, removeMember, remove];

async function userId(call: ApplianceCall): Promise<string> {
  return (await findUser(call)).account.id;
}

function shown(team: HandlerResult<typeof teamsApi.get>): CommandResult {
  return {
    value: team,
    text: pairs([
      ['id', team.$id],
      ['name', team.name],
      ['members', String(team.total)],
      ['created', team.$createdAt],
    ]),
  };
}
