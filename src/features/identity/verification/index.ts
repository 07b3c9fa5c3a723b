import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import { createDisclosure, toToken } from '../one-time-secrets/index.js';
import type { Sessions } from '../sessions/index.js';
import { verificationApi } from './api.js';
import { createVerifications, type VerificationDeps } from './service.js';

interface Deps extends VerificationDeps {
  readonly sessions: Sessions;
  readonly projects: Projects;
}

type Confirmation = Call<(typeof verificationApi)['confirmEmail' | 'confirmPhone']>;

/** Proofs that a user holds an e-mail address or a phone number. */
export function createVerification(runtime: Pick<Runtime, 'db' | 'config'>, deps: Deps) {
  const { db, config } = runtime;
  const { sessions, limits, projects } = deps;
  const verifications = createVerifications(deps);
  const disclosure = createDisclosure(runtime);

  const held = (unit: Unit, { project, actor }: { project: Project; actor: User }): Promise<UserRecord> =>
    sessions.holdCaller(unit, project, actor);
  const confirm = async (call: Confirmation, purpose: 'email-verification' | 'phone-verification') => {
    const { project, actor, request, body } = call;
    const redeemed = await db.work(auditContextOf(call), async (unit) => {
      const confirmed = await verifications.confirm(unit, project, purpose, { ...body, ip: request.ip, actor });
      // A server key is never counted by address, so there is nothing to give back.
      if (actor.kind !== 'key') await limits.forgive(unit, 'login', { address: request.ip });
      return confirmed;
    });
    return toToken({ ...redeemed, userId: redeemed.alias, secret: '' }, '');
  };

  const operations = implement(verificationApi, {
    requestEmail: async (call) => {
      const { project, body, request } = call;
      const page = projects.demandOwnUrl(project, body.url);
      const issued = await db.work(auditContextOf(call), async (unit) =>
        verifications.requestEmail(unit, project, await held(unit, call), { page, locale: request.locale }),
      );
      return toToken(issued, disclosure.ofProof(call, issued.secret));
    },
    confirmEmail: (call) => confirm(call, 'email-verification'),
    requestPhone: async (call) => {
      const { project, request } = call;
      if (config.smsUrl === undefined) throw new Failure('general_phone_disabled');
      const issued = await db.work(auditContextOf(call), async (unit) =>
        verifications.requestPhone(unit, project, await held(unit, call), { locale: request.locale }),
      );
      return toToken(issued, disclosure.ofProof(call, issued.secret));
    },
    confirmPhone: (call) => confirm(call, 'phone-verification'),
  });
  return { operations };
}
