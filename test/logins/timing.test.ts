// A request of a link or a code tells nobody by its answer or by its time whether there is such an account.
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { pairs, requireAlike } from '../harness/alike.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { aContact, ask, sentLogins, withSms } from './setup.js';

const target = await startAppliance({ settings: withSms });
const client = createClient(target);

for (const way of sentLogins) {
  test(`${2 * pairs} requests of a ${way.name}, known and unknown in turn, cannot be told apart`, async (t) => {
    const contact = aContact(way.channel);
    const { id } = await aUser(target, way.channel === 'email' ? { email: contact } : {});
    if (way.channel === 'phone') await runSql(target, 'update users set phone = ? where id = ?', [contact, id]);
    await requireAlike(t, async (kind) => {
      const to = kind === 'known' ? contact : aContact(way.channel);
      return (await ask(client, way, to, { userId: 'the-same-id' })).expect(201);
    });
  });
}
