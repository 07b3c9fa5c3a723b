// Who may do what with documents: every role, granted by the collection or by the document, over REST and GraphQL.
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { type Action, actions, crew, type Place, someCallers } from './callers.js';
import { graphqlCalls, restCalls } from './calls.js';
import { checkPlace, onDocument } from './matrix.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const backend = await aBackend(target);
const callers = await someCallers(target);
const { ada, eve, mia } = callers;

const roles = [
  ...['any', 'guests', 'users', 'users/verified', 'users/unverified', 'label:gold', 'label:silver', 'team:nobody'],
  ...[`user:${ada.name}`, `user:${ada.name}/unverified`, `user:${ada.name}/verified`, `user:${eve.name}/verified`],
  ...[`user:${eve.name}/unverified`, 'user:nobody', `team:${crew}`, `team:${crew}/cook`, `team:${crew}/night shift`],
  `team:${crew}/owner`,
  ...(mia.roles ?? []).filter((role) => role.startsWith('member:')),
];
const all = (role: string, list: readonly Action[] = actions) => list.map((action) => `${action}("${role}")`);
const check = (place: Place) =>
  checkPlace(backend, Object.values(callers), place, (made) => ({
    rest: restCalls(made),
    graphql: graphqlCalls(made),
  }));

for (const role of roles) {
  test(`grants to ${role}`, async () => {
    await check({ collection: all(role), documentSecurity: false, document: [] });
    await check({ collection: [], documentSecurity: true, document: all(role, onDocument) });
    await check({ collection: [], documentSecurity: false, document: all(role, onDocument) });
  });
}

test('each action is granted by itself', async () => {
  for (const action of actions) await check({ collection: all('any', [action]), documentSecurity: true, document: [] });
  for (const action of onDocument)
    await check({ collection: [], documentSecurity: true, document: all('any', [action]) });
  await check({ collection: all('users', ['read']), documentSecurity: true, document: all('guests', ['update']) });
});
