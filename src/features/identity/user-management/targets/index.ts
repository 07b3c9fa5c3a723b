import { emailAddress } from '#src/contract/email-address.js';
import { Failure, invalidParam } from '#src/contract/errors.js';
import { userLimits } from '#src/contract/limits.js';
import { implement } from '#src/contract/operation.js';
import { phoneNumber, uniqueId } from '#src/contract/shapes.js';
import type { UserRecord, UserTarget } from '#src/contract/user.js';
import { raw } from '#src/platform/db/template.js';
import { listRequestOf } from '#src/platform/list-query/index.js';
import { toTarget } from '../../users/index.js';
import { type ManagementDeps, type OfUser, userOfCall, workOnUser } from '../model/keys.js';
import { targetsApi } from './api.js';
import { createTargetStore, targetFields } from './store.js';

type OfTarget = OfUser & { readonly params: { readonly targetId: string } };

/** Creates the operations of server keys on targets of users. Targets are stored in the user's row, so only that row needs a lock. */
export function createTargets(deps: ManagementDeps) {
  const { db, sql, random, userChanges, lists } = deps;
  const store = createTargetStore(sql);
  const existing = ({ params }: OfTarget, account: UserRecord): UserTarget => {
    const target = account.targets.find(({ id }) => id === params.targetId);
    if (target === undefined) throw new Failure('user_target_not_found');
    return target;
  };

  return implement(targetsApi, {
    list: async (call) => {
      const { id } = await userOfCall(deps, call);
      const listing = { rows: store.rows(call.project.id, id), select: raw('packed'), fields: targetFields };
      const page = await lists.read(db, listing, listRequestOf(call));
      return { total: page.total, targets: page.rows.map((row) => toTarget(id, JSON.parse(String(row.packed)))) };
    },
    create: (call) =>
      workOnUser(deps, call, async (unit, account) => {
        const { targetId, providerType, identifier, ...named } = call.body;
        const { targets } = account;
        const id = targetId === uniqueId ? random.id() : targetId;
        const target = valid({ id, createdAt: unit.now, updatedAt: unit.now, providerType, identifier }, named);
        requireFree(targets, target);
        if (targets.length >= userLimits.targets) {
          throw new Failure('general_argument_invalid', {
            message: `A user has at most ${userLimits.targets} targets.`,
          });
        }
        await userChanges.changeTargets(unit, call.project, account, [...targets, target], 'targetCreated', target);
        return toTarget(account.id, target);
      }),
    get: async (call) => {
      const account = await userOfCall(deps, call);
      return toTarget(account.id, existing(call, account));
    },
    update: (call) =>
      workOnUser(deps, call, async (unit, account) => {
        const { identifier, providerId, name } = call.body;
        const before = existing(call, account);
        const changed = { ...before, updatedAt: unit.now, identifier: identifier ?? before.identifier };
        const target = valid(changed, { providerId, name });
        const others = account.targets.filter((one) => one !== before);
        requireFree(others, target);
        const targets = account.targets.map((one) => (one === before ? target : one));
        await userChanges.changeTargets(unit, call.project, account, targets, 'targetUpdated', target);
        return toTarget(account.id, target);
      }),
    delete: (call) =>
      workOnUser(deps, call, async (unit, account) => {
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

/** Adds provider id and name to a target. Throws Failure `general_argument_invalid` if the identifier does not match the provider type. */
function valid(bare: UserTarget, { providerId, name }: Named): UserTarget {
  const target = {
    ...bare,
    ...(providerId === undefined ? {} : { providerId }),
    ...(name === undefined ? {} : { name }),
  };
  if (target.providerType === 'push') return target;
  const parsed = (target.providerType === 'email' ? emailAddress : phoneNumber).safeParse(target.identifier);
  if (parsed.success) return { ...target, identifier: parsed.data };
  throw invalidParam('identifier', String(parsed.error.issues[0]?.message));
}

function requireFree(others: readonly UserTarget[], { id, providerType, identifier }: UserTarget): void {
  const isTaken = others.some(
    (one) => one.id === id || (one.providerType === providerType && one.identifier === identifier),
  );
  if (isTaken) throw new Failure('user_target_already_exists');
}
