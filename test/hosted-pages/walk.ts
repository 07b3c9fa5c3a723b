// Every operation of the hosted pages, each by a browser for which it can succeed.
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { emailProof, recoveryProof } from '../proofs/proofs.js';
import { aGuardedUser, halfLogin } from '../second-factor/people.js';

type Step = [id: string, method: string, path: string, body: unknown, client: Client];

const formType = { 'Content-Type': 'application/x-www-form-urlencoded' };
const shown = {
  pages_signIn: 'sign-in',
  pages_signUp: 'sign-up',
  pages_email: 'email',
  pages_code: 'code',
  pages_link: 'link',
  pages_secondFactor: 'second-factor',
  pages_recovery: 'recovery',
  pages_reset: 'reset',
  pages_verify: 'verify',
  pages_done: 'done',
  pages_verified: 'verified',
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
  const unproved = await aLoggedInUser(target);
  const lost = await recoveryProof(target, await aUser(target));
  const newcomer = { name: 'New', email: 'newcomer.of.pages@mail.example', password: 'a fine long password' };
  return [
    ...Object.entries(shown).map(([id, page]): Step => [id, 'GET', at(page), undefined, guest]),
    ['pages_postSignIn', 'POST', at('sign-in'), fields({ email, password }), form],
    ['pages_postSignUp', 'POST', at('sign-up'), fields(newcomer), form],
    ['pages_postEmail', 'POST', at('email'), fields({ email }), form],
    ['pages_postCode', 'POST', at('code'), fields({ userId, secret }), form],
    ['pages_postSecondFactor', 'POST', at('second-factor'), fields({ otp: guarded.app.code(1) }), half],
    ['pages_postRecovery', 'POST', at('recovery'), fields({ email }), form],
    ['pages_postReset', 'POST', at('reset'), fields({ ...lost, password: 'a recovered one' }), form],
    ['pages_postVerify', 'POST', at('verify'), fields(await emailProof(target, unproved)), form],
  ];
}
