// An invitation does not tell its inviter whether the address has an account, nor which.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { day } from '../harness/clock.js';
import { aContact } from '../logins/setup.js';
import { aUserWithPhone } from '../proofs/proofs.js';
import { accept, aTeam, invite, linkOf, page } from './setup.js';

const target = await startAppliance();
const { client: key } = await aServerKey(target);
const query = (method: string, attribute: string, values: unknown[]) =>
  encodeURIComponent(JSON.stringify({ method, attribute, values }));

test('known and unknown contacts are answered alike, whatever names them', async () => {
  const team = await aTeam(target);
  const [known, other] = [await aUserWithPhone(target), await aUserWithPhone(target)];
  // An id of ours tells when it was made.
  target.clock.advance(30 * day);
  const owner = { ...team.owner, client: (await relogged(team.owner)).client };
  const asked: readonly [string, object, object][] = [
    ['an address', { email: known.email }, { email: aContact('email') }],
    ['a number', { phone: known.phone }, { phone: aContact('phone') }],
    [
      'an address and a number',
      { email: other.email, phone: other.phone },
      { email: aContact('email'), phone: aContact('phone') },
    ],
    [
      'an address and the number of another',
      { email: known.email, phone: other.phone },
      { email: aContact('email'), phone: other.phone },
    ],
  ];
  for (const [name, first, second] of asked) {
    const answers = [];
    for (const named of [first, second]) {
      const answer = await owner.client.post(team.memberships, { ...named, name: 'N', roles: ['a'], url: page });
      const { $id, userId, $createdAt, $updatedAt, invited, message, ...rest } = answer.body;
      if (answer.status === 201) {
        const made = Number.parseInt(String(userId).slice(0, 13), 16) / 1000;
        assert.ok(Math.abs(made - target.clock.now()) < 60_000, `${name}: ${userId}`);
        const listed = (await owner.client.get(`${team.memberships}/${$id}`)).expect(200).body;
        assert.deepEqual(listed, answer.body);
      }
      const shape = [$id, userId, $createdAt, $updatedAt, invited].map((value) => String(value).length);
      const { email, phone } = named as { email?: string; phone?: string };
      assert.deepEqual(
        [rest.userEmail ?? '', rest.userPhone ?? ''],
        answer.status === 201 ? [email ?? '', phone ?? ''] : ['', ''],
      );
      answers.push([answer.status, shape, { ...rest, userEmail: '', userPhone: '' }, message]);
    }
    assert.deepEqual(answers[0], answers[1], name);
  }

  async function relogged({ email, password }: { email: string; password: string }) {
    const answer = (await createClient(target).post('/account/sessions/email', { email, password })).expect(201);
    return { client: createClient(target, { session: answer.string('secret') }) };
  }
});

test('the user behind an invitation cannot be asked for before it is accepted', async () => {
  const team = await aTeam(target);
  const known = await aLoggedInUser(target);
  const link = await invite(target, team, known.email);
  assert.notEqual(link.userId, known.id);
  const matching = async (client: typeof key, id: string) => {
    const path = `${team.memberships}?queries[]=${query('equal', 'userId', [id])}`;
    const searched = await client.get(`${team.memberships}?search=${id}`);
    return [(await client.get(path)).expect(200).body.total, searched.expect(200).body.total];
  };
  assert.deepEqual(await matching(team.owner.client, known.id), [0, 0]);
  assert.deepEqual(await matching(team.owner.client, link.userId), [1, 1]);
  assert.deepEqual(await matching(key, known.id), [1, 1]);
  const again = await invite(target, team, known.email);
  assert.equal(again.userId, link.userId);
  (await accept(known.client, again)).expect(200);
  assert.deepEqual(await matching(team.owner.client, known.id), [1, 1]);
  const listed = (await team.owner.client.get(`${team.memberships}/${link.membershipId}`)).expect(200);
  assert.equal(listed.string('userId'), known.id);
});

test('an invitation by id shows the team nothing but the id made for it', async () => {
  const team = await aTeam(target);
  const known = await aLoggedInUser(target);
  const body = { userId: known.id, email: 'other@mail.example', roles: [], url: page };
  const made = (await team.owner.client.post(team.memberships, body)).expect(201).body;
  assert.equal(made.userEmail, 'other@mail.example');
  (await accept(known.client, await linkOf(target, known.email))).expect(200);
});

test('the number of invitations by id does not reveal the address', async () => {
  const strict = await startAppliance({ settings: { SVC_RATE_LIMITS: 'signup=1000/60,data=100000/60' } });
  const team = await aTeam(strict);
  const known = await aLoggedInUser(strict);
  const statuses = async (named: object, times: number) => {
    const answers: number[] = [];
    for (let at = 0; at < times; at++)
      answers.push((await team.owner.client.post(team.memberships, { ...named, roles: [], url: page })).status);
    return answers;
  };
  assert.deepEqual(await statuses({ userId: known.id }, 4), [201, 201, 201, 429]);
  const unknown = await statuses({ email: aContact('email') }, 4);
  assert.deepEqual(unknown, [201, 201, 201, 429]);
  assert.deepEqual(await statuses({ email: known.email }, 4), unknown);
});
