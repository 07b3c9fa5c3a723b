import { Failure } from '#src/contract/errors.js';
import { logoBytes } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { digest } from '#src/platform/crypto/digest.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type ImageType, imageTypeOf } from './image.js';
import { createLogoStore, projectLogos } from './store.js';

/** Logos shown on the hosted pages of projects. */
export interface Logos {
  /** Version of the logo for its URL, so that a new logo gets a new URL; undefined if the project has none. */
  versionOf(reader: Reader, project: Project): Promise<string | undefined>;
  /** Throws Failure `project_logo_not_found`. */
  get(reader: Reader, project: Project): Promise<{ readonly type: ImageType; readonly content: Buffer }>;
  /** Throws Failure `general_argument_invalid` for anything but a PNG, JPEG or WebP of at most 32 KiB. */
  set(unit: Unit, project: Project, content: Buffer): Promise<void>;
  /** Removes the logo, if any. */
  remove(unit: Unit, project: Project): Promise<void>;
}

const versionLength = 16;

/** Creates the logos service. */
export function createLogos({ sql }: Pick<Runtime, 'sql'>): Logos {
  const store = createLogoStore(sql);
  const changed = (unit: Unit, { id, name }: Project): void =>
    unit.record('projectUpdated', { resource: `projects/${id}`, payload: { name, settings: ['logo'] } });
  return {
    versionOf: async (reader, { id }) => {
      const row = await reader.one(store.digest({ projectId: id }));
      return row === undefined ? undefined : String(row.digest).slice(0, versionLength);
    },
    get: async (reader, { id }) => {
      const row = await reader.one(store.find({ projectId: id }));
      if (row === undefined) throw new Failure('project_logo_not_found');
      const { type, content } = projectLogos.decode(row);
      return { type, content: Buffer.from(content, 'base64') };
    },
    set: async (unit, project, content) => {
      const type = imageTypeOf(content);
      if (type === undefined || content.length > logoBytes)
        throw new Failure('general_argument_invalid', {
          message: `A logo is a PNG, JPEG or WebP image of at most ${logoBytes / 1024} KiB.`,
        });
      const text = content.toString('base64');
      const times = { createdAt: unit.now, updatedAt: unit.now };
      await unit.run(store.put({ projectId: project.id, type, content: text, digest: digest(text), ...times }));
      changed(unit, project);
    },
    remove: async (unit, project) => {
      if ((await unit.run(store.remove(project.id))) > 0) changed(unit, project);
    },
  };
}
