import { Failure } from '#src/contract/errors.js';
import { passkeyLimits } from '#src/contract/limits.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Factors } from '../factors/index.js';
import type { Identities } from '../identities/index.js';
import { type CallByUser, type Sessions, workOnCaller } from '../sessions/index.js';
import { isAnonymous } from '../users/index.js';
import { passkeysApi } from './api.js';
import { type CeremonyChallenges, createCeremonyChallenges } from './challenges.js';
import { algorithms, relyingPartyId, userHandle } from './relying-party.js';
import { createPasskeyService, type PasskeyService } from './service.js';
import { describeCredential } from './shapes.js';
import { createPasskeyStore, type PasskeyRow } from './store.js';
import { createPasskeyVerifier, readClientData, type Verifier } from './verify.js';
import { toPasskey, toPasskeyList } from './view.js';

export { passkeyBound } from './api.js';
export { relyingPartyId, userHandle } from './relying-party.js';
export { type DescribedCredential, describeCredential, loginResponse, requestOptions } from './shapes.js';
export type { PasskeyRow } from './store.js';
export { readClientData } from './verify.js';
export { passkeyListShape, toPasskeyList } from './view.js';

interface Services {
  readonly sessions: Sessions;
  readonly factors: Factors;
  readonly identities: Identities;
  readonly projects: Projects;
}

/** Passkeys of users, with the challenges and the verifier of both ceremonies. */
export interface Passkeys extends PasskeyService {
  readonly challenges: CeremonyChallenges;
  readonly verifier: Verifier;
}

interface Deps extends Pick<Runtime, 'db' | 'config'>, Pick<Services, 'sessions' | 'identities'> {
  readonly passkeys: Passkeys;
}

type Finish = Call<(typeof passkeysApi)['finish']>;

/** Passkeys: registering, listing, renaming and removing. Logging in with one is a login method. */
export function createPasskeysFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>,
  { sessions, factors, identities, projects }: Services,
) {
  const { db, config } = runtime;
  const store = createPasskeyStore(runtime.sql);
  const challenges = createCeremonyChallenges(runtime, store);
  const verifier = createPasskeyVerifier({ baseUrl: config.baseUrl, allowsOrigin: projects.allowsOrigin });
  const passkeys: Passkeys = { ...createPasskeyService(runtime, { store, factors }), challenges, verifier };
  const deps: Deps = { db, config, sessions, identities, passkeys };
  const operations = implement(passkeysApi, {
    start: (call) => start(deps, call),
    finish: async (call) => toPasskey(await finish(deps, call)),
    list: async ({ project, actor }) => toPasskeyList(await passkeys.list(db, project, actor.id)),
    rename: async (call) => {
      const { project, params, body } = call;
      const named = (unit: Unit, { id }: UserRecord) => passkeys.rename(unit, project, id, params.passkeyId, body.name);
      return toPasskey(await workOnCaller(deps, call, named));
    },
    delete: async (call) => {
      sessions.requireFresh(call.actor.session);
      await workOnCaller(deps, call, (unit, account) =>
        passkeys.remove(unit, call.project, account, call.params.passkeyId),
      );
    },
  });
  return { passkeys, operations, jobs: challenges.jobs };
}

async function start(deps: Deps, call: CallByUser) {
  const { config, passkeys } = deps;
  const { project } = call;
  const { challenge, account, registered } = await workOnCaller(deps, call, async (unit, account) => {
    await requireMayAddLogin(deps, unit, call, account);
    await passkeys.requireRoom(unit, project, account.id);
    const registered = await passkeys.list(unit, project, account.id);
    const use = { purpose: 'registration', subject: account.id } as const;
    return { account, registered, challenge: await passkeys.challenges.issue(unit, project, use) };
  });
  return { options: creationOptionsOf({ project, baseUrl: config.baseUrl, challenge, account, registered }) };
}

/**
 * Requires a recent login to add another login, which outlives the session. An anonymous account without passkeys or identities is exempt:
 * it cannot log in again.
 */
export async function requireMayAddLogin(
  { passkeys, identities, sessions }: Pick<Deps, 'passkeys' | 'identities' | 'sessions'>,
  reader: Reader,
  { project, actor }: CallByUser,
  account: UserRecord,
): Promise<void> {
  const isReachable =
    (await passkeys.leadsTo(reader, project, account)) || (await identities.hasAny(reader, project, account.id));
  if (!isAnonymous(account) || isReachable) sessions.requireFresh(actor.session);
}

interface Registration {
  readonly project: Project;
  readonly baseUrl: string;
  readonly challenge: string;
  readonly account: UserRecord;
  readonly registered: readonly PasskeyRow[];
}

/** Creation options for the browser. They request no attestation, because no decision depends on it. */
function creationOptionsOf({ project, baseUrl, challenge, account, registered }: Registration) {
  const { id, email, phone, name } = account;
  return {
    rp: { id: relyingPartyId(project, baseUrl), name: project.name },
    user: { id: userHandle(project, id), name: email ?? phone ?? (name || id), displayName: name },
    challenge,
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg }) as const),
    timeout: passkeyLimits.ceremonySeconds * 1000,
    excludeCredentials: registered.map(describeCredential),
    authenticatorSelection: {
      residentKey: 'preferred',
      requireResidentKey: false,
      userVerification: project.settings['passkeys.userVerification'],
    },
    attestation: 'none',
  } as const;
}

async function finish(deps: Deps, call: Finish): Promise<PasskeyRow> {
  const { db, passkeys } = deps;
  const { project, actor, body } = call;
  const challenge = readClientData(body.response)?.challenge ?? '';
  const use = { purpose: 'registration', subject: actor.id } as const;
  const isOurs = await db.work(auditContextOf(call), (unit) => passkeys.challenges.take(unit, project, challenge, use));
  const credential = isOurs ? await passkeys.verifier.registration(project, body.response) : { refused: 'challenge' };
  const isRequired = project.settings['passkeys.userVerification'] === 'required';
  if ('refused' in credential || (isRequired && !credential.userVerified)) {
    throw new Failure('user_invalid_credentials', {
      message: 'The registration of the passkey is not valid, or took longer than five minutes. Start it again.',
    });
  }
  return workOnCaller(deps, call, async (unit, account) => {
    await requireMayAddLogin(deps, unit, call, account);
    return passkeys.add(unit, project, account, { ...credential, name: body.name });
  });
}
