import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { MessageName, MessageVariables } from './messages.js';

/** A message to a person. */
interface Letter<M extends MessageName> {
  readonly message: M;
  /** The address, or the number. */
  readonly to: string;
  /** Null where there is no such user yet. */
  readonly userId: string | null;
  /** How the person is called; may be empty. */
  readonly name: string;
  /** The language asked for, as a BCP 47 tag; null where nobody said one. */
  readonly locale: string | null;
  readonly variables: MessageVariables<M>;
}

/** Leaves messages to people as rows of the unit that caused them; recipient and variables are sealed. */
export function createCourier({ sealing }: Pick<Platform, 'sealing'>) {
  return {
    send: <M extends MessageName>(unit: Unit, project: Project, letter: Letter<M>): void => {
      const { message, to, userId, name, locale, variables } = letter;
      const content = JSON.stringify({ to, locals: { project: project.name, name, ...variables } });
      const sealed = sealing.seal(project.id, project.dataKey, 'messages|sealed', content);
      unit.send({ userId, template: message, locale: locale ?? 'en', sealed });
    },
  };
}

/** The courier service. */
export type Courier = ReturnType<typeof createCourier>;
