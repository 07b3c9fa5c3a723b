import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { passkeyLimits } from '#src/contract/limits.js';
import { auditContextOf, type Call, implement, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Factors } from '../factors/index.js';
import type { Identities } from '../identities/index.js';
import type { Sessions } from '../sessions/index.js';
import { isAnonymous } from '../users/index.js';
import { passkeysApi } from './api.js';
import { type CeremonyChallenges, createChallenges } from './ceremony/challenges.js';
import { algorithms, relyingPartyId, userHandle } from './ceremony/relying-party.js';
import { createVerifier, readClientData, type Verifier } from './ceremony/verify.js';
import { createPasskeyService, type PasskeyService } from './service.js';
import { createPasskeyStore, type PasskeyRow } from './store.js';
import { toPasskey, toPasskeyList } from './view.js';

export { passkeyBound } from './api.js';
export { relyingPartyId, userHandle } from './ceremony/relying-party.js';
export { loginResponse, requestOptions } from './ceremony/shapes.js';
export { readClientData } from './ceremony/verify.js';
export type { PasskeyRow } from './store.js';
export { passkeyListShape, toPasskeyList } from './view.js';

interface Deps {
  readonly sessions: Sessions;
  readonly factors: Factors;
  readonly identities: Identities;
  readonly projects: Projects;
}

/** Passkeys of users, and what both of their ceremonies share. */
export interface Passkeys extends PasskeyService {
  readonly challenges: CeremonyChallenges;
  readonly verifier: Verifier;
}

type UserCall = { readonly project: Project; readonly actor: User; readonly request: RequestFacts };
type Finish = Call<(typeof passkeysApi)['finish']>;

/** Passkeys: registering, listing, renaming and removing them. Logging in by one is a login method. */
export function createPasskeysFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing' | 'config'>,
  { sessions, factors, identities, projects }: Deps,
) {
  const { db, config } = runtime;
  const store = createPasskeyStore(runtime.sql);
  const service = createPasskeyService(runtime, { store, factors });
  const challenges = createChallenges(runtime, store);
  const verifier = createVerifier({ baseUrl: config.baseUrl, allowsOrigin: projects.allowsOrigin });

  /** Works on the caller's account as it is now, which nobody else changes meanwhile. */
  const work = <T>(call: UserCall, act: (unit: Unit, account: UserRecord) => Promise<T>) =>
    db.work(auditContextOf(call), async (unit) => act(unit, await sessions.holdCaller(unit, call.project, call.actor)));
  /**
   * A passkey is a way in that outlives the session, so that adding one takes a fresh proof, as a first password does. Who has nothing but
   * the session has nothing to prove it by.
   */
  const demandMayAdd = async (unit: Unit, { project, actor }: UserCall, account: UserRecord): Promise<void> => {
    const isReachable =
      (await service.leadsTo(unit, project, account)) || (await identities.hasAny(unit, project, account.id));
    if (!isAnonymous(account) || isReachable) sessions.demandFresh(actor.session);
  };
  const start = async (call: UserCall) => {
    const { project } = call;
    const { challenge, account, registered } = await work(call, async (unit, account) => {
      await demandMayAdd(unit, call, account);
      await service.demandRoom(unit, project, account.id);
      const registered = await service.list(unit, project, account.id);
      const use = { purpose: 'registration', subject: account.id } as const;
      return { account, registered, challenge: await challenges.issue(unit, project, use) };
    });
    return { options: creationOptionsOf({ project, baseUrl: config.baseUrl, challenge, account, registered }) };
  };
  const finish = async (call: Finish): Promise<PasskeyRow> => {
    const { project, actor, body } = call;
    const challenge = readClientData(body.response)?.challenge ?? '';
    const use = { purpose: 'registration', subject: actor.id } as const;
    const isOurs = await db.work(auditContextOf(call), (unit) => challenges.take(unit, project, challenge, use));
    const credential = isOurs ? await verifier.registration(project, body.response) : { refused: 'challenge' };
    const isRequired = project.settings['passkeys.userVerification'] === 'required';
    if ('refused' in credential || (isRequired && !credential.userVerified)) {
      throw new Failure('user_invalid_credentials', {
        message: 'The registration of the passkey is not valid, or took longer than five minutes. Start it again.',
      });
    }
    return work(call, async (unit, account) => {
      await demandMayAdd(unit, call, account);
      return service.add(unit, project, account, { ...credential, name: body.name });
    });
  };

  const operations = implement(passkeysApi, {
    start,
    finish: async (call) => toPasskey(await finish(call)),
    list: async ({ project, actor }) => toPasskeyList(await service.list(db, project, actor.id)),
    rename: async (call) =>
      toPasskey(
        await work(call, (unit, { id }) =>
          service.rename(unit, call.project, id, call.params.passkeyId, call.body.name),
        ),
      ),
    delete: async (call) => {
      sessions.demandFresh(call.actor.session);
      await work(call, (unit, account) => service.remove(unit, call.project, account, call.params.passkeyId));
    },
  });
  const passkeys: Passkeys = { ...service, challenges, verifier };
  return { passkeys, operations, jobs: challenges.jobs };
}

interface Registration {
  readonly project: Project;
  readonly baseUrl: string;
  readonly challenge: string;
  readonly account: UserRecord;
  readonly registered: readonly PasskeyRow[];
}

/** What the browser is asked for; no attestation, as nothing would be decided by it. */
function creationOptionsOf({ project, baseUrl, challenge, account, registered }: Registration) {
  const { id, email, phone, name } = account;
  return {
    rp: { id: relyingPartyId(project, baseUrl), name: project.name },
    user: { id: userHandle(project, id), name: email ?? phone ?? (name || id), displayName: name },
    challenge,
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg }) as const),
    timeout: passkeyLimits.ceremonySeconds * 1000,
    excludeCredentials: registered.map(({ credentialId }) => ({ type: 'public-key', id: credentialId }) as const),
    authenticatorSelection: {
      residentKey: 'preferred',
      requireResidentKey: false,
      userVerification: project.settings['passkeys.userVerification'],
    },
    attestation: 'none',
  } as const;
}
