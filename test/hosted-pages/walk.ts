// Every operation of the hosted pages, each by a browser for which it can succeed.
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { emailProof, recoveryProof, removalProof } from '../proofs/proofs.js';
import { aGuardedUser, halfLogin, verify } from '../second-factor/people.js';
import { aTeam, invite } from '../teams/setup.js';

type Step = [id: string, method: string, path: string, body: unknown, client: Client];

const formType = { 'Content-Type': 'application/x-www-form-urlencoded' };
const shown = {
  pages_signIn: 'sign-in',
  pages_signUp: 'sign-up',
  pages_email: 'email',
  pages_phone: 'phone',
  pages_code: 'code',
  pages_link: 'link',
  pages_secondFactor: 'second-factor',
  pages_recovery: 'recovery',
  pages_reset: 'reset',
  pages_verify: 'verify',
  pages_done: 'done',
  pages_verified: 'verified',
  pages_removeAddress: 'remove-address',
  pages_failed: 'failed',
  pages_signOut: 'sign-out',
  pages_invitation: 'invitation',
} as const;

/** Prepares the callers and lists what they call. */
export async function hostedPagesWalk(target: TestAppliance): Promise<Step[]> {
  const guest = createClient(target);
  const { client: key } = await aServerKey(target);
  const form = createClient(target, { headers: formType });
  const at = (page: string) => `/auth/${page}?project=${target.project.id}`;
  const fields = (given: object) => new URLSearchParams(given as Record<string, string>).toString();
  const { email, password } = await aUser(target);
  const guarded = await aGuardedUser(target);
  const pending = (await halfLogin(target, guarded)).body.pendingSession as { secret: string };
  const half = createClient(target, { session: pending.secret, headers: formType });
  const code = { userId: 'unique()', email: 'walk.of.pages@mail.example' };
  const { userId, secret } = (await key.post('/account/tokens/email', code)).expect(201).body;
  await verify(target, guarded.id, 'email');
  const { runtime, features } = target.appliance;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  await runtime.db.work(by, (unit) => features.logos.set(unit, target.project, Buffer.from('89504e470d0a1a0a', 'hex')));
  const team = await aTeam(target);
  const invited = await invite(target, team, 'invited.of.pages@mail.example');
  const unproved = await aLoggedInUser(target);
  const lost = await recoveryProof(target, await aUser(target));
  const newcomer = { name: 'New', email: 'newcomer.of.pages@mail.example', password: 'a fine long password' };
  return [
    ...Object.entries(shown).map(([id, page]): Step => [id, 'GET', at(page), undefined, guest]),
    ['operations_mailbox', 'GET', '/mailbox', undefined, guest],
    ['operations_mail', 'GET', '/mailbox/some-mail', undefined, guest],
    ['operations_mailHtml', 'GET', '/mailbox/some-mail/html', undefined, guest],
    ['operations_openMailbox', 'POST', '/mailbox', fields({ token: features.courier.mailboxAccess.issue() }), form],
    ['pages_postSignIn', 'POST', at('sign-in'), fields({ email, password }), form],
    ['pages_postSignUp', 'POST', at('sign-up'), fields(newcomer), form],
    ['pages_postEmail', 'POST', at('email'), fields({ email }), form],
    ['pages_magicURL', 'GET', `/pages/magic-url?project=${target.project.id}`, undefined, guest],
    ['pages_logo', 'GET', at('logo'), undefined, guest],
    ['pages_postPhone', 'POST', at('phone'), fields({ phone: '+1 415 555 0199' }), form],
    ['pages_postCode', 'POST', at('code'), fields({ userId, secret }), form],
    ['pages_postChallenge', 'POST', at('challenge'), fields({ factor: 'email' }), half],
    ['pages_postSecondFactor', 'POST', at('second-factor'), fields({ otp: guarded.app.code(1) }), half],
    ['pages_postInvitation', 'POST', at('invitation'), fields(invited), form],
    ['pages_postSignOut', 'POST', at('sign-out'), '', form],
    ['pages_postRecovery', 'POST', at('recovery'), fields({ email }), form],
    ['pages_postReset', 'POST', at('reset'), fields({ ...lost, password: 'a recovered one' }), form],
    [
      'pages_postRemoveAddress',
      'POST',
      at('remove-address'),
      fields(await removalProof(target, await aLoggedInUser(target))),
      form,
    ],
    ['pages_postVerify', 'POST', at('verify'), fields(await emailProof(target, unproved)), form],
  ];
}
