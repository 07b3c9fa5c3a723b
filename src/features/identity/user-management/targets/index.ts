import { Failure } from '#src/contract/errors.js';
import { userLimits } from '#src/contract/limits.js';
import { auditContextOf, implement } from '#src/contract/operation.js';
import { emailAddress, phoneNumber, uniqueId } from '#src/contract/shapes.js';
import type { Target, UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type Lists, listRequestOf } from '#src/platform/list-query/index.js';
import { toTarget, type UserChanges, type Users } from '../../users/index.js';
import type { OfUser } from '../keys.js';
import { targetsApi } from './api.js';
import { createTargetStore, targetFields } from './store.js';

type OfTarget = OfUser & { readonly params: { readonly targetId: string } };

interface Deps {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly lists: Lists;
}

/** What server keys do with the targets of users. They stand with the user, so there is one row to hold. */
export function createTargets({ db, sql, random }: Pick<Runtime, 'db' | 'sql' | 'random'>, deps: Deps) {
  const { users, userChanges, lists } = deps;
  const store = createTargetStore(sql);
  const holding = <T>(call: OfUser, act: (unit: Unit, account: UserRecord) => Promise<T>) =>
    db.work(auditContextOf(call), async (unit) =>
      act(unit, await userChanges.lockById(unit, call.project, call.params.userId)),
    );
  const existing = ({ params }: OfTarget, account: UserRecord): Target => {
    const target = account.targets.find(({ id }) => id === params.targetId);
    if (target === undefined) throw new Failure('user_target_not_found');
    return target;
  };

  return implement(targetsApi, {
    list: async ({ project, params, query, request }) => {
      const { id } = await users.get(db, project.id, params.userId);
      const listing = { rows: store.ofUser(project.id, id), select: store.packed(), fields: targetFields };
      const listRequest = listRequestOf({ query, request });
      const page = await lists.read(db, listing, listRequest);
      return { total: page.total, targets: page.rows.map((row) => toTarget(id, JSON.parse(String(row.packed)))) };
    },
    create: (call) =>
      holding(call, async (unit, account) => {
        const { targetId, providerType, identifier, ...named } = call.body;
        const { targets } = account;
        const id = targetId === uniqueId ? random.id() : targetId;
        const target = valid({ id, createdAt: unit.now, updatedAt: unit.now, providerType, identifier }, named);
        demandFree(targets, target);
        if (targets.length >= userLimits.targets) {
          throw new Failure('general_argument_invalid', {
            message: `A user has at most ${userLimits.targets} targets.`,
          });
        }
        await userChanges.changeTargets(unit, call.project, account, [...targets, target], 'targetCreated', target);
        return toTarget(account.id, target);
      }),
    get: async (call) => {
      const account = await users.get(db, call.project.id, call.params.userId);
      return toTarget(account.id, existing(call, account));
    },
    update: (call) =>
      holding(call, async (unit, account) => {
        const { identifier, providerId, name } = call.body;
        const before = existing(call, account);
        const changed = { ...before, updatedAt: unit.now, identifier: identifier ?? before.identifier };
        const target = valid(changed, { providerId, name });
        const others = account.targets.filter((one) => one !== before);
        demandFree(others, target);
        const targets = account.targets.map((one) => (one === before ? target : one));
        await userChanges.changeTargets(unit, call.project, account, targets, 'targetUpdated', target);
        return toTarget(account.id, target);
      }),
    delete: (call) =>
      holding(call, async (unit, account) => {
        const target = existing(call, account);
        const targets = account.targets.filter((one) => one !== target);
        await userChanges.changeTargets(unit, call.project, account, targets, 'targetDeleted', target);
      }),
  });
}

interface Named {
  readonly providerId: string | undefined;
  readonly name: string | undefined;
}

/** A target with what else it is given. Throws Failure `general_argument_invalid` where the identifier is not of its kind. */
function valid(bare: Target, { providerId, name }: Named): Target {
  const target = {
    ...bare,
    ...(providerId === undefined ? {} : { providerId }),
    ...(name === undefined ? {} : { name }),
  };
  if (target.providerType === 'push') return target;
  const parsed = (target.providerType === 'email' ? emailAddress : phoneNumber).safeParse(target.identifier);
  if (parsed.success) return { ...target, identifier: parsed.data };
  const message = `Invalid \`identifier\` param: ${parsed.error.issues[0]?.message}`;
  throw new Failure('general_argument_invalid', { message });
}

function demandFree(others: readonly Target[], { id, providerType, identifier }: Target): void {
  const isTaken = others.some(
    (one) => one.id === id || (one.providerType === providerType && one.identifier === identifier),
  );
  if (isTaken) throw new Failure('user_target_already_exists');
}
