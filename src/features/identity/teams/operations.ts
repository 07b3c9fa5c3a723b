import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { listRequestOf } from '#src/platform/list-query/index.js';
import { teamsApi } from './api.js';
import type { Teams } from './model/service.js';
import { toTeam } from './model/view.js';

/** Handlers of the operations on teams. */
export function teamOperations({ db }: Pick<Runtime, 'db'>, teams: Teams) {
  return implement(teamsApi, {
    create: async (call) => {
      const { teamId: id, name, roles } = call.body;
      return toTeam(
        await db.work(auditContextOf(call), (unit) =>
          teams.create(unit, call.project, call.actor, { id, name, roles }),
        ),
      );
    },
    list: async ({ project, actor, query, request }) => {
      const { total, teams: found } = await teams.list(project, actor, listRequestOf({ query, request }));
      return { total, teams: found.map(toTeam) };
    },
    get: async ({ project, actor, params }) => toTeam(await teams.get(db, project, actor, params.teamId)),
    update: async (call) =>
      toTeam(
        await db.work(auditContextOf(call), (unit) =>
          teams.rename(unit, call.project, call.actor, call.params.teamId, call.body.name),
        ),
      ),
    delete: (call) =>
      db.work(auditContextOf(call), (unit) => teams.remove(unit, call.project, call.actor, call.params.teamId)),
    getPrefs: async ({ project, actor, params }) => ({
      ...(await teams.get(db, project, actor, params.teamId)).prefs,
    }),
    updatePrefs: async (call) => {
      const { prefs } = await db.work(auditContextOf(call), (unit) =>
        teams.changePrefs(unit, call.project, call.actor, call.params.teamId, call.body.prefs),
      );
      return { ...prefs };
    },
  });
}
