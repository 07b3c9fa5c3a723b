import { membershipsApi, teamsApi } from '#src/features/index.js';
import { type ApplianceCall, command, type ParsedArgs, projectOption } from '../line/command.js';
import { creating } from '../line/deleted-ids.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { notePage, pageOptions, pageQueries } from '../line/page.js';
import type { CommandResult } from '../terminal/command-result.js';
import { CommandError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';

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

const create = command({
  path: 'team create',
  summary: 'Creates a team without members',
  arguments: [{ name: 'NAME', summary: 'display name' }],
  options: [projectOption, { flag: '--id', value: 'ID', summary: 'id to use (default: a generated one)' }],
  examples: [
    'svc team create Drivers --project shop --id drivers',
    'svc team create "Night shift" --project shop --id night --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args } = call;
    const body = { teamId: args.text('--id') ?? 'unique()', name: args.argument('NAME') };
    const made = await creating(call, 'team', () => invokeAsOperator(call, teamsApi.create, { body }));
    const next = `svc team add ${made.$id} USER --project ${args.required('--project')} --roles owner`;
    return { ...shown(made), next };
  },
});

const list = command({
  path: 'team list',
  summary: 'Lists the teams of a project, oldest first, and marks teams without an owner',
  options: [projectOption, ...listOptions],
  examples: ['svc team list --project shop', 'svc team list --project shop --search night --json'],
  needs: 'appliance',
  run: async (call) => {
    const value = await invokeAsOperator(call, teamsApi.list, { query: listQuery(call.args) });
    notePage(call, idsOf(value.teams), value.total);
    const { runtime, features } = call;
    const ids = value.teams.map(({ $id }) => $id);
    const withoutOwner = await features.teams.withoutOwner(runtime.db, call.args.required('--project'), ids);
    const rows = value.teams.map((team) => [
      ...[team.$id, team.name, String(team.total), withoutOwner.includes(team.$id) ? 'none' : 'yes', team.$createdAt],
    ]);
    const [first] = withoutOwner;
    const next = `svc team add ${first} USER --project ${call.args.required('--project')} --roles owner`;
    return {
      value: { ...value, withoutOwner },
      text: columns(['ID', 'NAME', 'MEMBERS', 'OWNER', 'CREATED'], rows),
      ...(first === undefined ? {} : { next }),
    };
  },
});

const show = command({
  path: 'team show',
  summary: 'Shows a team',
  arguments: [teamArgument],
  options: [projectOption],
  examples: ['svc team show drivers --project shop', 'svc team show night --project shop --json'],
  needs: 'appliance',
  run: async (call) => shown(await invokeAsOperator(call, teamsApi.get, { params: named(call) })),
});

const update = command({
  path: 'team update',
  summary: 'Changes the name of a team',
  arguments: [teamArgument],
  options: [projectOption, { flag: '--name', value: 'NAME', summary: 'the new name', required: true }],
  examples: [
    'svc team update drivers --project shop --name "All drivers"',
    'svc team update night --project shop --name Night --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const body = { name: call.args.required('--name') };
    return shown(await invokeAsOperator(call, teamsApi.update, { params: named(call), body }));
  },
});

const members = command({
  path: 'team members',
  summary: 'Lists the members of a team and its open invitations',
  arguments: [teamArgument],
  options: [projectOption, ...listOptions],
  examples: ['svc team members drivers --project shop', 'svc team members night --project shop --limit 10 --json'],
  needs: 'appliance',
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

const add = command({
  path: 'team add',
  summary: 'Adds a user to a team at once, without an invitation',
  arguments: [teamArgument, userArgument],
  options: [
    projectOption,
    { flag: '--roles', value: 'ROLES', summary: 'roles separated by commas; an owner can change the team' },
  ],
  examples: [
    'svc team add drivers ada@example.com --project shop --roles driver,planner',
    'svc team add night ada@example.com --project shop --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const roles = (call.args.text('--roles') ?? '').split(',').map((role) => role.trim());
    const body = { userId: await userId(call), roles: roles.filter(Boolean) };
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

const removeMember = command({
  path: 'team remove',
  summary: 'Removes a user from a team, or withdraws an invitation',
  arguments: [teamArgument, userArgument],
  options: [projectOption],
  examples: [
    'svc team remove drivers ada@example.com --project shop',
    'svc team remove night ada@example.com --project shop --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const params = named(call);
    const id = await userId(call);
    const queries = [query('equal', [id], 'userId')];
    const found = (await invokeAsOperator(call, membershipsApi.list, { params, query: { queries } })).memberships;
    const [first] = found;
    if (first === undefined) {
      const fix = `svc team members ${params.teamId} --project ${call.args.required('--project')}`;
      throw new CommandError('notFound', 'membership_not_found', 'The user is not in this team.', fix);
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

const remove = command({
  path: 'team delete',
  summary: 'Deletes a team and its memberships. The users are not deleted',
  arguments: [teamArgument],
  options: [projectOption],
  examples: ['svc team delete drivers --project shop --yes', 'svc team delete night --project shop --yes --json'],
  needs: 'appliance',
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

async function userId({ args, runtime, features }: ApplianceCall): Promise<string> {
  const project = await features.projects.get(runtime.db, args.required('--project'));
  return (await features.users.getByIdOrEmail(project.id, args.argument('USER'))).id;
}

function shown(team: { $id: string; name: string; total: number; $createdAt: string }): CommandResult {
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
