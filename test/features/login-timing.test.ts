// A login tells nobody by its answer or by its time whether there is such an account.
import { test } from 'node:test';
import { defaultHashParameters } from '#src/platform/crypto/hashing.js';
import { aUser } from '../harness/actors.js';
import { pairs, requireAlike } from '../harness/alike.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

// One lane of the three that the product ships with: a third of the time, in which a difference would show the better.
const hashParameters = { ...defaultHashParameters, scrypt: { ...defaultHashParameters.scrypt, p: 1 } };
const target = await startAppliance({ hashParameters });
const client = createClient(target);

test(`${2 * pairs} logins, known and unknown address in turn, cannot be told apart`, async (t) => {
  const person = await aUser(target);
  await requireAlike(t, async (kind, pair) => {
    const email = kind === 'known' ? person.email : `nobody${pair}@mail.example`;
    const answer = await client.post('/account/sessions/email', { email, password: 'a wrong password' });
    return answer.refused(401, 'user_invalid_credentials');
  });
});
