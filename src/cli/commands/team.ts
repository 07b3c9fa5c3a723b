import { membershipsApi, teamsApi } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import { type ApplianceCall, command, projectOption, type Typed } from '../command.js';
import { CommandError } from '../exit.js';
import { wholeNumber } from '../input.js';
import { operate } from '../operate.js';
import { columns, pairs } from '../output.js';

const teamArgument = { name: 'TEAM', summary: 'id of the team' } as const;
const userArgument = { name: 'USER', summary: 'id or e-mail address of the user' } as const;
const pageOptions = [
  { flag: '--search', value: 'WORD', summary: 'only those whose id or name holds it' },
  { flag: '--limit', value: 'N', summary: 'at most so many (default: 100)', group: 'Page' },
  { flag: '--offset', value: 'N', summary: 'after so many (default: 0)', group: 'Page' },
] as const;

const query = (method: string, values: readonly unknown[], attribute?: string) =>
  JSON.stringify({ method, attribute, values });
const asked = (typed: Typed) => ({
  search: typed.text('--search'),
  queries: [
    query('limit', [wholeNumber(typed, '--limit', 100, 5000)]),
    query('offset', [wholeNumber(typed, '--offset', 0, Number.MAX_SAFE_INTEGER)]),
  ],
});
const named = ({ typed }: ApplianceCall) => ({ teamId: typed.argument('TEAM') });

const create = command({
  path: 'team create',
  summary: 'Creates a team without members',
  arguments: [{ name: 'NAME', summary: 'what people call it' }],
  options: [projectOption, { flag: '--id', value: 'ID', summary: 'an id of your choice (default: a new one)' }],
  examples: [
    'svc team create Drivers --project shop --id drivers',
    'svc team create "Night shift" --project shop --id night --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { typed } = call;
    const body = { teamId: typed.text('--id') ?? 'unique()', name: typed.argument('NAME') };
    const made = await operate(call, teamsApi.create, { body });
    const next = `svc team add ${made.$id} USER --project ${typed.required('--project')} --roles owner`;
    return { ...shown(made), next };
  },
});

const list = command({
  path: 'team list',
  summary: 'Lists the teams of a project, oldest first',
  options: [projectOption, ...pageOptions],
  examples: ['svc team list --project shop', 'svc team list --project shop --search night --json'],
  needs: 'appliance',
  run: async (call) => {
    const value = await operate(call, teamsApi.list, { query: asked(call.typed) });
    noteRest(call, value.teams.length, value.total);
    const rows = value.teams.map((team) => [team.$id, team.name, String(team.total), team.$createdAt]);
    return { value, text: columns(['ID', 'NAME', 'MEMBERS', 'CREATED'], rows) };
  },
});

const show = command({
  path: 'team show',
  summary: 'Shows a team',
  arguments: [teamArgument],
  options: [projectOption],
  examples: ['svc team show drivers --project shop', 'svc team show night --project shop --json'],
  needs: 'appliance',
  run: async (call) => shown(await operate(call, teamsApi.get, { params: named(call) })),
});

const update = command({
  path: 'team update',
  summary: 'Changes the name of a team',
  arguments: [teamArgument],
  options: [projectOption, { flag: '--name', value: 'NAME', summary: 'another name', required: true }],
  examples: [
    'svc team update drivers --project shop --name "All drivers"',
    'svc team update night --project shop --name Night --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const body = { name: call.typed.required('--name') };
    return shown(await operate(call, teamsApi.update, { params: named(call), body }));
  },
});

const members = command({
  path: 'team members',
  summary: 'Lists the members of a team and whom it has invited',
  arguments: [teamArgument],
  options: [projectOption, ...pageOptions],
  examples: ['svc team members drivers --project shop', 'svc team members night --project shop --limit 10 --json'],
  needs: 'appliance',
  run: async (call) => {
    const value = await operate(call, membershipsApi.list, { params: named(call), query: asked(call.typed) });
    noteRest(call, value.memberships.length, value.total);
    const rows = value.memberships.map((one) => [
      ...[one.userId, one.userEmail, one.userName, one.roles.join(','), one.confirm ? one.joined : 'invited'],
    ]);
    return { value, text: columns(['USER', 'E-MAIL', 'NAME', 'ROLES', 'JOINED'], rows) };
  },
});

const add = command({
  path: 'team add',
  summary: 'Puts a user into a team at once, without an invitation',
  arguments: [teamArgument, userArgument],
  options: [
    projectOption,
    { flag: '--roles', value: 'ROLES', summary: 'roles separated by commas; owner may change the team' },
  ],
  examples: [
    'svc team add drivers ada@example.com --project shop --roles driver,planner',
    'svc team add night ada@example.com --project shop --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const roles = (call.typed.text('--roles') ?? '').split(',').map((role) => role.trim());
    const body = { userId: await userId(call), roles: roles.filter(Boolean) };
    const value = await operate(call, membershipsApi.create, { params: named(call), body });
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
  summary: 'Takes a user out of a team, or an invitation back; the team stays',
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
    const [found] = (await operate(call, membershipsApi.list, { params, query: { queries } })).memberships;
    if (found === undefined) {
      const fix = `svc team members ${params.teamId} --project ${call.typed.required('--project')}`;
      throw new CommandError('notFound', 'membership_not_found', 'The user is not in this team.', fix);
    }
    await operate(call, membershipsApi.delete, { params: { ...params, membershipId: found.$id } });
    return {
      value: { $id: found.$id, deleted: true },
      text: `User ${id} is not in the team ${params.teamId} any more.`,
    };
  },
});

const remove = command({
  path: 'team delete',
  summary: 'Deletes a team with its memberships; its users stay',
  arguments: [teamArgument],
  options: [projectOption],
  examples: ['svc team delete drivers --project shop --yes', 'svc team delete night --project shop --yes --json'],
  needs: 'appliance',
  run: async (call) => {
    const params = named(call);
    const { $id, name } = await operate(call, teamsApi.get, { params });
    await call.prompts.confirm(`Delete the team ${$id} (${name})?`);
    await operate(call, teamsApi.delete, { params });
    return { value: { $id, deleted: true }, text: `Team ${$id} is deleted.` };
  },
});

/** `svc team …` */
export const teamCommands = [create, list, show, update, members, add, removeMember, remove];

async function userId({ typed, appliance: { platform, features } }: ApplianceCall): Promise<string> {
  const project = await features.projects.get(platform.db, typed.required('--project'));
  return (await features.users.find(project, typed.argument('USER'))).id;
}

function noteRest({ output }: ApplianceCall, shownNow: number, total: number): void {
  if (shownNow < total) output.note(`${shownNow} of ${total}; --offset and --limit show others`);
}

function shown(team: { $id: string; name: string; total: number; $createdAt: string }): Answer {
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
