import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { pathOf } from '../model/schema.js';
import type { Databases } from '../model/service.js';
import { toAttribute } from '../model/view.js';
import { relationsApi } from './api.js';
import { draftOf } from './service.js';

/** Binds the operations on relationships. */
export function relationOperations({ db }: Pick<Runtime, 'db'>, databases: Databases) {
  return implement(relationsApi, {
    create: async (call) => {
      const draft = draftOf(call.params.collectionId, call.body);
      return toAttribute(
        await db.work(auditContextOf(call), (unit) => databases.createRelation(unit, pathOf(call), draft)),
      );
    },
    update: async (call) =>
      toAttribute(
        await db.work(auditContextOf(call), (unit) =>
          databases.updateRelation(unit, pathOf(call), call.params.key, call.body),
        ),
      ),
  });
}
