import { allows, type PermissionAction, permissionActions, rolesOfAccount } from '#src/contract/permissions.js';
import type { UserRecord } from '#src/contract/user.js';
import { databasesApi, documentsApi } from '#src/features/index.js';
import { type ApplianceCall, projectCommand } from '../line/command.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { Lines } from '../terminal/lines.js';
import { columns } from '../terminal/table.js';
import { collectionOf, databaseOption } from './collection-view.js';

/** What decides about an action. */
interface Grants {
  readonly collection: readonly string[];
  /** Permissions of the document; undefined if none was named. */
  readonly document: readonly string[] | undefined;
  readonly documentSecurity: boolean;
  /** Reason for refusing everybody except server keys and operators; undefined if the permissions decide. */
  readonly closed: string | undefined;
}

/** The answer for an action, with its reason. */
interface Verdict {
  readonly allowed: boolean;
  readonly because: string;
}

const explain = projectCommand({
  path: 'permission explain',
  summary:
    'Says what a user, or a guest, may do with a collection or one of its documents, and which permission decides',
  arguments: [
    { name: 'COLLECTION', summary: 'id of the collection' },
    { name: 'DOCUMENT', summary: 'id of a document (default: what the collection alone allows)', optional: true },
  ],
  options: [
    databaseOption,
    { flag: '--user', value: 'USER', summary: 'id or email address of the user (default: a guest)', values: 'user' },
  ],
  examples: [
    'svc permission explain posts --project shop --database blog --user ada@example.com',
    'svc permission explain posts --project shop --database blog --json',
  ],
  run: async (call) => {
    const { args, features } = call;
    const project = await call.findProject();
    const named = args.text('--user');
    const account = named === undefined ? undefined : await features.users.getByIdOrEmail(project.id, named);
    const grants = await grantsOf(call);
    const verdicts = permissionActions.map((action) => [action, verdictOf(action, account, grants)] as const);
    const value = {
      ...Object.fromEntries(verdicts.map(([action, { allowed }]) => [action, allowed])),
      because: Object.fromEntries(verdicts.map(([action, { because }]) => [action, because])),
      roles: rolesOfAccount(account),
    };
    const rows = verdicts.map(([action, { allowed, because }]) => [action, allowed ? 'yes' : 'no', because]);
    const who = account === undefined ? 'A guest' : `The user ${account.id}`;
    return {
      value,
      text: Lines.parts([
        columns(['ACTION', 'ALLOWED', 'BECAUSE'], rows),
        Lines.text(`${who} has the roles ${rolesOfAccount(account).join(', ')}.`),
      ]),
    };
  },
});

/** `svc permission explain` */
export const permissionCommands = [explain];

async function grantsOf(call: ApplianceCall): Promise<Grants> {
  const params = collectionOf(call, 'COLLECTION');
  const database = await invokeAsOperator(call, databasesApi.get, { params });
  const collection = await invokeAsOperator(call, databasesApi.getCollection, { params });
  const closed = !database.enabled
    ? 'the database is disabled'
    : collection.enabled
      ? undefined
      : 'the collection is disabled';
  const documentId = call.args.optionalArgument('DOCUMENT');
  const base = { collection: collection.$permissions, documentSecurity: collection.documentSecurity, closed };
  if (documentId === undefined) return { ...base, document: undefined };
  const { text } = await invokeAsOperator(call, documentsApi.get, { params: { ...params, documentId } });
  const { $permissions } = JSON.parse(text) as { $permissions: string[] };
  return { ...base, document: $permissions };
}

function verdictOf(action: PermissionAction, account: UserRecord | undefined, grants: Grants): Verdict {
  const { collection, document, documentSecurity, closed } = grants;
  if (closed !== undefined) return { allowed: false, because: `${closed}: only server keys have access` };
  if (account?.status === false) return { allowed: false, because: 'the user is blocked' };
  const roles = rolesOfAccount(account);
  const ofCollection = grantIn(collection, action, roles);
  if (ofCollection !== undefined) return { allowed: true, because: `${ofCollection} of the collection` };
  const ofDocument = document === undefined ? undefined : grantIn(document, action, roles);
  if (ofDocument !== undefined && documentSecurity) return { allowed: true, because: `${ofDocument} of the document` };
  if (ofDocument !== undefined)
    return { allowed: false, because: `${ofDocument} of the document does not count: document security is off` };
  const others = [...holders(collection, action), ...(documentSecurity ? holders(document ?? [], action) : [])];
  const perDocument =
    documentSecurity && document === undefined && action !== 'create'
      ? '; documents can allow it (document security)'
      : '';
  return { allowed: false, because: deniedBecause(action, others, account) + perDocument };
}

/** The entry of a list that grants the action to one of the roles. */
function grantIn(permissions: readonly string[], action: PermissionAction, roles: readonly string[]) {
  return permissions.find((permission) => allows([permission], action, roles));
}

/** Roles that a list grants the action to. */
function holders(permissions: readonly string[], action: PermissionAction): string[] {
  const start = `${action}("`;
  return permissions.filter((one) => one.startsWith(start)).map((one) => one.slice(start.length, -2));
}

function deniedBecause(action: PermissionAction, others: readonly string[], account: UserRecord | undefined): string {
  if (others.length === 0) return `no permission allows ${action} to anybody`;
  const list = [...new Set(others)].join(', ');
  const unverified = account !== undefined && !account.emailVerification && !account.phoneVerification;
  const hint =
    unverified && others.some((role) => role.endsWith('/verified')) ? ' (no address or number is verified)' : '';
  return `${action} is allowed to ${list}, and not to this ${account === undefined ? 'guest' : 'user'}${hint}`;
}
