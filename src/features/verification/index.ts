import type { Account } from '#src/contract/account.js';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { by, type Call, implement } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { createDisclosure, toToken } from '../one-time-secrets/index.js';
import type { Projects } from '../projects/index.js';
import { verificationApi } from './api.js';
import { createVerifications, type VerificationDoors } from './service.js';

interface Doors extends VerificationDoors {
  readonly projects: Projects;
}

type Confirmation = Call<(typeof verificationApi)['confirmEmail' | 'confirmPhone']>;

/** Proofs that a user holds an e-mail address or a phone number. */
export function createVerification(platform: Pick<Platform, 'db' | 'config'>, doors: Doors) {
  const { db, config } = platform;
  const { accounts, limits, projects } = doors;
  const verifications = createVerifications(doors);
  const disclosure = createDisclosure(platform);

  /** The caller's account as it is now, whom nobody else changes until the unit ends. */
  const held = async (unit: Unit, { project, actor }: { project: Project; actor: User }): Promise<Account> => {
    const account = await accounts.hold(unit, project.id, actor.id);
    if (account === undefined) throw new Failure('general_unauthorized_scope');
    return account;
  };
  const confirm = async (call: Confirmation, purpose: 'email-verification' | 'phone-verification') => {
    const { project, actor, request, body } = call;
    const redeemed = await db.work(by(call), async (unit) => {
      const confirmed = await verifications.confirm(unit, project, purpose, { ...body, ip: request.ip });
      const isCounted = !(confirmed instanceof Failure) && actor.kind !== 'key';
      if (isCounted) await limits.forgive(unit, 'login', { address: request.ip });
      return confirmed;
    });
    return toToken({ ...redeemed, userId: redeemed.alias, secret: '' }, '');
  };

  const operations = implement(verificationApi, {
    requestEmail: async (call) => {
      const { project, body, request } = call;
      const page = projects.demandOwnUrl(project, body.url);
      const issued = await db.work(by(call), async (unit) =>
        verifications.requestEmail(unit, project, await held(unit, call), { page, locale: request.locale }),
      );
      return toToken(issued, disclosure.ofProof(call, issued.secret));
    },
    confirmEmail: (call) => confirm(call, 'email-verification'),
    requestPhone: async (call) => {
      const { project, request } = call;
      if (config.smsUrl === undefined) throw new Failure('general_phone_disabled');
      const issued = await db.work(by(call), async (unit) =>
        verifications.requestPhone(unit, project, await held(unit, call), { locale: request.locale }),
      );
      return toToken(issued, disclosure.ofProof(call, issued.secret));
    },
    confirmPhone: (call) => confirm(call, 'phone-verification'),
  });
  return { operations };
}
