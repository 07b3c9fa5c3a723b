// A recovery tells nobody by its answer or by its time whether there is such an account.
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { pairs, requireAlike } from '../harness/alike.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { page } from './proofs.js';

const target = await startAppliance({ settings: { SVC_TOKENS_IN_RESPONSE: 'key' } });
const client = createClient(target);

test(`${2 * pairs} recoveries, known and unknown address in turn, cannot be told apart`, async (t) => {
  const known: string[] = [];
  for (let user = 0; user < pairs; user++) known.push((await aUser(target, { id: 'unique()' })).email);
  await requireAlike(t, async (kind, pair) => {
    const email = kind === 'known' ? known[Math.max(0, pair)] : `nobody${pair}@mail.example`;
    return (await client.post('/account/recovery', { email, url: page })).expect(201);
  });
});
