import { Failure } from '#src/contract/errors.js';
import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import { createDisclosure, toToken } from '../one-time-secrets/index.js';
import { type Sessions, workOnCaller } from '../sessions/index.js';
import { verificationApi } from './api.js';
import {
  confirmContact,
  type Presented,
  removeEmail,
  requestEmail,
  requestPhone,
  type VerificationDeps,
} from './service.js';

interface Deps extends VerificationDeps, Pick<Runtime, 'db'> {
  readonly sessions: Sessions;
  readonly projects: Projects;
}

type Redemption = Call<(typeof verificationApi)['confirmEmail' | 'removeEmail' | 'confirmPhone']>;

/** Verification of a user's email address or phone number. */
export function createContactVerification(deps: Deps) {
  const { db, config, limits, projects } = deps;
  const disclosure = createDisclosure(deps);

  /** Redeems a link or code. A right one does not count against the limit of guesses. */
  const redeem = <T>(call: Redemption, act: (unit: Unit, presented: Presented) => Promise<T>): Promise<T> =>
    db.work(auditContextOf(call), async (unit) => {
      const { ip } = call.request;
      const result = await act(unit, { ...call.body, ip });
      // Calls with a server key are not counted by address, so there is nothing to refund.
      if (call.actor.kind !== 'key') await limits.forgive(unit, 'login', { address: ip });
      return result;
    });
  const confirm = async (call: Redemption, purpose: 'email-verification' | 'phone-verification') => {
    const redeemed = await redeem(call, (unit, presented) =>
      confirmContact(deps, unit, call.project, purpose, presented),
    );
    return toToken({ ...redeemed, userId: redeemed.alias, secret: '' }, '');
  };

  const operations = implement(verificationApi, {
    requestEmail: async (call) => {
      const { project, body, request } = call;
      const page = projects.requireOwnUrl(project, body.url);
      const issued = await workOnCaller(deps, call, (unit, account) =>
        requestEmail(deps, unit, project, account, { page, locale: request.locale }),
      );
      return toToken(issued, disclosure.ofProof(call, issued.secret));
    },
    confirmEmail: (call) => confirm(call, 'email-verification'),
    removeEmail: (call) => redeem(call, (unit, presented) => removeEmail(deps, unit, call.project, presented)),
    requestPhone: async (call) => {
      const { project, request } = call;
      if (config.smsUrl === undefined) throw new Failure('general_phone_disabled');
      const issued = await workOnCaller(deps, call, (unit, account) =>
        requestPhone(deps, unit, project, account, request.locale),
      );
      return toToken(issued, disclosure.ofProof(call, issued.secret));
    },
    confirmPhone: (call) => confirm(call, 'phone-verification'),
  });
  return { operations };
}
