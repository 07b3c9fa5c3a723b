import type { Account } from '#src/contract/account.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';

/** Messages that tell a person of a change to the own account. */
type Notice = 'password-changed' | 'email-changed';

/** Leaves messages to people as rows of the unit that caused them; recipient and variables are sealed. */
export function createCourier({ sealing }: Pick<Platform, 'sealing'>) {
  return {
    notify: (unit: Unit, project: Project, account: Account, recipient: string, notice: Notice): void => {
      const content = JSON.stringify({
        to: recipient,
        locals: { name: account.name, project: project.name, at: unit.now },
      });
      const sealed = sealing.seal(project.id, project.dataKey, 'messages|sealed', content);
      unit.send({ userId: account.id, template: notice, locale: 'en', sealed });
    },
  };
}

/** The courier service. */
export type Courier = ReturnType<typeof createCourier>;
