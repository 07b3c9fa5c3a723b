import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { isBelow } from '#src/contract/web-address.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { hostnameCandidates } from './hostnames.js';
import type { ProjectStore } from './store.js';

const localNames: readonly string[] = ['localhost', '127.0.0.1'];

/** Which web origins belong to a project. */
export interface Origins {
  /** Whether an origin is the service's own, or localhost during development: a platform of every project. */
  isOwnOrigin(origin: string): boolean;
  /** Whether pages of this origin belong to the project (https, or http on localhost). */
  allowsOrigin(project: Project, origin: string): boolean;
  /**
   * An address that a message or a redirect may lead to: on a platform of the project, without what could mislead (RFC 9700 §2.1).
   * Throws Failure for anything else.
   */
  demandOwnUrl(project: Project, text: string, param?: string): URL;
  /** The same, or undefined for anything else. */
  ownUrl(project: Project, text: string): URL | undefined;
  /** Whether any project has the origin; a preflight names no project. */
  anyAllowsOrigin(reader: Reader, origin: string): Promise<boolean>;
}

/** Creates the check of origins. */
export function createOrigins({ config }: Pick<Runtime, 'config'>, store: ProjectStore): Origins {
  const base = new URL(config.baseUrl);
  const pathBelow = (name: string) => new URL(`${config.baseUrl.replace(/\/$/, '')}/${name}`);
  const isLocal = localNames.includes(base.hostname);
  const isOurs = (url: URL): boolean => url.origin === base.origin || (isLocal && localNames.includes(url.hostname));
  const allowsOrigin = (project: Project, origin: string): boolean => {
    const url = webOrigin(origin);
    if (url === undefined) return false;
    return isOurs(url) || hostnameCandidates(url.hostname).some((name) => project.hostnames.includes(name));
  };
  const ownUrl: Origins['ownUrl'] = (project, text) => {
    const url = /[\\\p{Cc}\s]/u.test(text) || !URL.canParse(text) ? undefined : new URL(text);
    // `blob:` and other schemes have the origin of what they wrap.
    const isWeb = url !== undefined && (url.protocol === 'https:' || url.protocol === 'http:');
    const isPlain = isWeb && url.username === '' && url.password === '' && url.hash === '';
    // An address of the API would be called with what the browser holds; its pages are pages.
    const isApi =
      url !== undefined && isBelow(url, base) && !['auth', 'pages'].some((name) => isBelow(url, pathBelow(name)));
    return isPlain && !isApi && allowsOrigin(project, url.origin) ? url : undefined;
  };
  /** How the host of an address becomes a platform, where it is none. */
  const platformFor = (project: Project, text: string): string => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || allowsOrigin(project, `https://${url.host}`)) return '';
    return ` To add the host: svc platform add --project ${project.id} --hostname HOST`;
  };
  return {
    isOwnOrigin: (origin) => {
      const url = webOrigin(origin);
      return url !== undefined && isOurs(url);
    },
    allowsOrigin,
    ownUrl,
    demandOwnUrl: (project, text, param = 'url') => {
      const url = ownUrl(project, text);
      if (url !== undefined) return url;
      if (text === '') throw new Failure('general_argument_invalid', { message: `Param "${param}" is not optional.` });
      throw new Failure('general_argument_invalid', {
        message: `Invalid \`${param}\` param: must be an http or https URL whose host is a platform of the project.${platformFor(project, text)}`,
      });
    },
    anyAllowsOrigin: async (reader, origin) => {
      const url = webOrigin(origin);
      if (url === undefined) return false;
      return isOurs(url) || (await reader.one(store.anyPlatform(hostnameCandidates(url.hostname)))) !== undefined;
    },
  };
}

function webOrigin(origin: string): URL | undefined {
  if (!URL.canParse(origin)) return undefined;
  const url = new URL(origin);
  const isSecure = url.protocol === 'https:' || (url.protocol === 'http:' && localNames.includes(url.hostname));
  return isSecure && url.origin === origin ? url : undefined;
}
